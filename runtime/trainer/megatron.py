"""The trainer: megatron-core behind the `Trainer` protocol, one object per rank.

Forward, backward, gradient reduction, clipping and the optimizer are Megatron's own, put together as its training loop
does. What is ours: which tokens, which loss, and when a step must not happen.

Invariants: every rank decides alike, because it decides on numbers that all ranks hold; an update that raises leaves
weights and moments as they were; sums are divided once, by the denominator of the whole batch.

Deviations from Megatron's training loop:
1. Gradients are checked before the step, not after it, so that a bad batch changes nothing.
2. Checkpoints hold whole tensors under Hugging Face names instead of `dist_checkpointing` shards, whose optimizer state
   does not load in 0.16.1. Rank 0 must hold the model three times over while it saves.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from assay.core.array import Array
from assay.core.error import TrainerError
from assay.core.trainer import TrainSequence, UpdateResult, UpdateSettings
from assay.runtime.trainer import device
from assay.runtime.trainer.batch import MicroBatch, check_sequences, micro_batch, pack
from assay.runtime.trainer.checkpoint import read_checkpoint, read_policy_weights, write_checkpoint
from assay.runtime.trainer.layout import make_layout
from assay.runtime.trainer.loss import (
    MAXIMA,
    MEANS,
    POLICY_OPTIONS,
    LossSums,
    policy_loss,
    sft_loss,
    sharded_token_logprobs,
    token_logprobs,
)
from assay.runtime.trainer.mapping import map_parameters
from assay.runtime.trainer.mcore import (
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
    get_forward_backward_func,
    model_parallel_cuda_manual_seed,
    parallel_state,
)
from assay.runtime.trainer.optimizer import MOMENTS, Optimizer
from assay.runtime.trainer.rank import RankGroup, join
from assay.runtime.trainer.shard import ShardMap
from assay.runtime.trainer.spec import Precision, build_model, read_policy_config

T = TypeVar("T")


class MegatronTrainer:
    """One rank of the trainer.

    Args:
        policy: Hugging Face folder with the first weights; llama, qwen2 or qwen3.
        tensor_parallel: Ranks that divide each layer.
        pipeline_parallel: Ranks that divide the layers; the rest of the world is data-parallel.
        precision: `bf16` keeps fp32 main weights; CUDA only.
        beta1: AdamW's decay of the first moment.
        beta2: AdamW's decay of the second moment.
        epsilon: AdamW's.
        seed: Of this rank's generators.
        group: The ranks; those that the environment names by default.

    Attributes:
        step: Optimizer steps made.
        data_rank: Which share of a batch this rank trains.
        data_size: Number of shares.
    """

    def __init__(
        self,
        policy: Path,
        *,
        tensor_parallel: int = 1,
        pipeline_parallel: int = 1,
        precision: Precision = "fp32",
        beta1: float = 0.9,
        beta2: float = 0.95,
        epsilon: float = 1e-8,
        seed: int = 0,
        group: RankGroup | None = None,
    ) -> None:
        if precision == "bf16" and device.is_cpu():
            raise TrainerError("precision=bf16 must have CUDA", todo="Use precision=fp32")
        self._folder = Path(policy)
        self._policy = read_policy_config(self._folder)
        self.group = group or join()
        if self.group.world_size % (tensor_parallel * pipeline_parallel):
            raise TrainerError(
                "tensor_parallel x pipeline_parallel must divide the ranks",
                got=f"{tensor_parallel} x {pipeline_parallel} for {self.group.world_size}",
            )
        self._layout = make_layout(tensor_parallel, pipeline_parallel)
        torch.manual_seed(seed)
        model_parallel_cuda_manual_seed(seed)
        self._device = device.current()
        model: Any = build_model(
            self._policy,
            tensor_parallel,
            pipeline_parallel,
            precision,
            {"finalize_model_grads_func": finalize_model_grads},
        ).to(self._device)
        if precision == "bf16":
            model = model.bfloat16()
        first_layer = model.decoder.layers[0].layer_number - 1
        self._parameters = dict(model.named_parameters())
        mapped = map_parameters(list(self._parameters), first_layer, self._policy.is_tied)
        self._map = ShardMap(mapped, self._policy.heads, self._layout, self._device)
        self._set_weights(read_policy_weights(self._folder))
        self._model = DistributedDataParallel(
            model.config, DistributedDataParallelConfig(grad_reduce_in_fp32=True), model
        )
        self._optimizer = Optimizer(self._model, self._parameters, beta1=beta1, beta2=beta2, epsilon=epsilon)
        self._schedule = get_forward_backward_func()
        # Positions whose logits the next forward pass is to compute; None for all.
        self._selected: Tensor | None = None
        if hasattr(model, "output_layer"):
            model.output_layer.register_forward_pre_hook(self._select, with_kwargs=True)
        self.step = 0
        self.data_rank = self._layout.data_rank
        self.data_size = self._layout.data_size

    def update(self, sequences: Sequence[TrainSequence], settings: UpdateSettings) -> UpdateResult:
        """Make one optimizer step on this rank's share of the batch.

        Sequences whose advantages are all zero have no gradient; they are left out of the policy loss and its
        denominator, and counted in the metric `skipped`.

        Raises:
            TrainerError: no trained token on any rank, a malformed sequence, or a loss or gradient that is not finite;
                the weights stay.
        """
        options = {**POLICY_OPTIONS, **settings.loss_options}
        error: TrainerError | None = None
        try:
            check_sequences(sequences, self._policy.vocab_size)
        except TrainerError as found:
            error, sequences = found, ()
        kept = [sequence for sequence in sequences if _has_gradient(sequence, settings, options)]
        packs = pack([len(sequence.tokens) for sequence in kept], settings.micro_tokens)
        num_trained = sum(sequence.loss_mask.data.count(1) for sequence in sequences)
        num_kept = sum(sequence.loss_mask.data.count(1) for sequence in kept)
        rows = self.group.gather([len(packs), num_trained, num_kept, int(error is not None)])
        if any(row[3] for row in rows):
            raise error or TrainerError("every rank must be given well-formed sequences", got="a bad one elsewhere")
        # Ranks of one replica hold the same share, so that each token is counted that many times.
        replicas = self.group.world_size // self.data_size
        num_trained = sum(row[1] for row in rows) // replicas
        num_kept = sum(row[2] for row in rows) // replicas
        if num_trained == 0:
            raise TrainerError("a batch must have a trained token", got="none on any rank")
        skipped = 1.0 - num_kept / num_trained
        if num_kept == 0:
            return UpdateResult(0.0, 0.0, 0, {"skipped": skipped})

        num_micro = max(row[0] for row in rows)
        batches = [micro_batch([kept[index] for index in indices], self._device) for indices in packs]
        batches += [micro_batch((), self._device)] * (num_micro - len(batches))
        self._model.zero_grad_buffer()
        self._optimizer.zero_grad()
        outputs = self._schedule(
            forward_step_func=partial(self._forward_loss, settings=settings, options=options),
            data_iterator=iter(batches),
            model=[self._model],
            num_microbatches=num_micro,
            seq_length=max(batch.tokens_BT.shape[1] for batch in batches),
            micro_batch_size=max(batch.tokens_BT.shape[0] for batch in batches),
        )
        reduced = self._reduce(outputs, num_kept)
        at = f"step {self.step + 1}"
        if not math.isfinite(reduced["loss"]):
            raise TrainerError("a loss must be finite", got=reduced["loss"], at=at)
        grad_norm = self._optimizer.step(settings, at)
        self.step += 1
        metrics = {name: reduced[name] for name in _meant(settings, options, reduced)}
        return UpdateResult(reduced["loss"], grad_norm, num_kept, {**metrics, "skipped": skipped})

    def logprobs(self, sequences: Sequence[Array]) -> list[Array]:
        """Return policy log-probs of each token after the first; float32, shape (T - 1,) each.

        Ranks of one replica must be given the same sequences.
        """
        results = [Array("float32", (0,), b"")] * len(sequences)
        plain = [_untrained(tokens) for tokens in sequences]
        packs = pack([len(tokens) for tokens in sequences], UpdateSettings("sft", 0.0).micro_tokens)
        if not packs:
            return results
        check_sequences(plain, self._policy.vocab_size)
        batches = [micro_batch([plain[index] for index in indices], self._device) for indices in packs]
        with torch.no_grad():
            outputs = self._schedule(
                forward_step_func=self._forward_logprobs,
                data_iterator=iter(batches),
                model=[self._model],
                num_microbatches=len(batches),
                seq_length=max(batch.tokens_BT.shape[1] for batch in batches),
                micro_batch_size=max(batch.tokens_BT.shape[0] for batch in batches),
                forward_only=True,
                collect_non_loss_data=True,
            )
        for number, indices in enumerate(packs):
            rows_BT = self._from_last_stage(outputs, number, batches[number].tokens_BT.shape)
            host = rows_BT.float().cpu().numpy()
            for row, index in enumerate(indices):
                length = len(sequences[index]) - 1
                results[index] = Array("float32", (length,), host[row, :length].tobytes())
        return results

    def state(self) -> Iterator[tuple[str, Array]]:
        """Yield the weights under their Hugging Face names, float32, on rank 0; other ranks take part."""
        for name, tensor in self._map.gather(self._optimizer.weights()):
            host = tensor.detach().float().cpu().contiguous()
            if self.group.rank == 0:
                yield name, Array("float32", tuple(host.shape), host.numpy().tobytes())

    def reset_optimizer(self) -> None:
        """Forget moments and step count, as a stage may ask."""
        self._optimizer.reset()

    def save(self, folder: Path, extra: dict[str, Any]) -> str:
        """Write a checkpoint; returns its digest on every rank.

        Args:
            folder: Final place.
            extra: JSON values that `load` gives back.
        """
        weights = {n: t.detach().float().cpu().contiguous() for n, t in self._map.gather(self._optimizer.weights())}
        optimizer = {"rng": torch.get_rng_state()}
        if not device.is_cpu():
            optimizer["rng_cuda"] = torch.cuda.get_rng_state()
        for moment, tensors in self._optimizer.moments():
            for name, tensor in self._map.gather(tensors):
                optimizer[f"{moment}.{name}"] = tensor.detach().float().cpu().contiguous()
        num_steps = self._optimizer.num_steps()
        if num_steps is not None:
            optimizer["adam_step"] = num_steps
        found = ""
        if self.group.rank == 0:
            state = {"step": self.step, "extra": extra}
            found = write_checkpoint(folder, weights, optimizer, state, self._folder)
        return self.group.broadcast(found.encode()).decode()

    def load(self, folder: Path, digest: str) -> dict[str, Any]:
        """Read a checkpoint whose digest the ledger holds; returns `extra`.

        Raises:
            TrainerError: the folder is not what the digest says, or holds another model.
        """
        checkpoint = self._agree(partial(read_checkpoint, folder, digest))
        self._set_weights(checkpoint.weights)
        self._optimizer.reload()
        tensors = checkpoint.optimizer
        if "adam_step" in tensors:
            moments = {
                moment: dict(self._map.shards({n.removeprefix(f"{moment}."): t for n, t in tensors.items()}))
                for moment in MOMENTS
            }
            self._optimizer.restore(tensors["adam_step"], moments)
        torch.set_rng_state(tensors["rng"])
        if not device.is_cpu() and "rng_cuda" in tensors:
            torch.cuda.set_rng_state(tensors["rng_cuda"])
        self.step = checkpoint.state["step"]
        extra: dict[str, Any] = checkpoint.state["extra"]
        return extra

    def close(self) -> None:
        """Leave the process group."""
        parallel_state.destroy_model_parallel()
        self.group.close()

    def _agree(self, read: Callable[[], T]) -> T:
        """Return what `read` returns, unless it fails on any rank: then all raise."""
        try:
            found, error = read(), None
        except TrainerError as failure:
            found, error = None, failure
        failed = [rank for rank, (flag,) in enumerate(self.group.gather([int(error is not None)])) if flag]
        if error is not None:
            raise error
        if failed or found is None:
            raise TrainerError("every rank must read the checkpoint", got=f"a failure on rank {failed[0]}")
        return found

    def _forward_loss(
        self, batches: Iterator[MicroBatch], model: Any, settings: UpdateSettings, options: Mapping[str, float]
    ) -> tuple[Tensor, Any]:
        batch = next(batches)
        self._selected = batch.trained_N
        output = model(batch.tokens_BT, None, None)
        self._selected = None

        def loss(logits_1NV: Tensor) -> tuple[Tensor, Tensor, LossSums]:
            labels_1N = batch.labels_BT.t().flatten()[batch.trained_N].unsqueeze(0)
            values = self._token_logprobs(logits_1NV, labels_1N)
            logprobs_BT, entropy_BT = (_scatter(value_1N, batch) for value_1N in values)
            if settings.loss == "sft":
                sums = sft_loss(logprobs_BT, entropy_BT, batch)
            else:
                sums = policy_loss(logprobs_BT, entropy_BT, batch, options)
            return sums.objective, sums.denominator, sums

        return output, loss

    def _select(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Keep the output layer, and all that follows, from work on positions that nobody trains."""
        if self._selected is None:
            return None
        hidden_TBH, *rest = args
        return (hidden_TBH.flatten(0, 1)[self._selected].unsqueeze(1), *rest), kwargs

    def _forward_logprobs(self, batches: Iterator[MicroBatch], model: Any) -> tuple[Tensor, Any]:
        batch = next(batches)
        output = model(batch.tokens_BT, None, None)
        return output, lambda logits_BTV, non_loss_data: self._token_logprobs(logits_BTV, batch.labels_BT)[0]

    def _token_logprobs(self, logits_BTV: Tensor, labels_BT: Tensor) -> tuple[Tensor, Tensor]:
        if self._layout.tensor_size == 1:
            return token_logprobs(logits_BTV, labels_BT)
        return sharded_token_logprobs(logits_BTV, labels_BT, self._layout.tensor_group)

    def _reduce(self, outputs: Sequence[LossSums], num_tokens: int) -> dict[str, float]:
        """Return the means and maxima over all ranks, the same on each."""
        sums = torch.zeros(len(MEANS) + 1, dtype=torch.float64, device=self._device)
        maxima = torch.zeros(len(MAXIMA), dtype=torch.float64, device=self._device)
        for output in outputs:
            sums += torch.cat([output.sums, output.denominator.double().reshape(1)])
            maxima = torch.maximum(maxima, output.maxima)
        if self.data_size > 1:
            dist.all_reduce(sums, group=self._layout.data_group)
            dist.all_reduce(maxima, dist.ReduceOp.MAX, group=self._layout.data_group)
        if self._layout.num_stages > 1:
            for values in (sums, maxima):
                dist.broadcast(values, self._layout.stages[-1], group=self._layout.stage_group)
        *totals, denominator = sums.tolist()
        means = {name: total / num_tokens for name, total in zip(MEANS, totals, strict=True)}
        means["loss"] = totals[0] / max(denominator, 1.0)
        if means["current"]:
            means["logprob_gap"] /= means["current"]
        return {**means, **dict(zip(MAXIMA, maxima.tolist(), strict=True))}

    def _set_weights(self, weights: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for name, shard in self._map.shards(weights):
                parameter = self._parameters[name]
                if parameter.shape != shard.shape:
                    raise TrainerError(
                        f"{name} must have shape {list(parameter.shape)}", got=list(shard.shape), at=self._folder
                    )
                parameter.copy_(shard)

    def _from_last_stage(self, outputs: Sequence[Tensor], number: int, shape: torch.Size) -> Tensor:
        if self._layout.num_stages == 1:
            return outputs[number]
        values = outputs[number].contiguous() if outputs else torch.zeros(shape, device=self._device)
        dist.broadcast(values, self._layout.stages[-1], group=self._layout.stage_group)
        return values


def _scatter(values_1N: Tensor, batch: MicroBatch) -> Tensor:
    """Put values of the trained positions where they belong; 0 elsewhere."""
    shape_TB = batch.labels_BT.t().shape
    flat = values_1N.new_zeros(shape_TB.numel())
    return flat.index_copy(0, batch.trained_N, values_1N.squeeze(0)).view(shape_TB).t()


def _meant(settings: UpdateSettings, options: Mapping[str, float], reduced: Mapping[str, float]) -> tuple[str, ...]:
    """Return the metrics that mean something for a step; 0 would be a lie for the others."""
    names: tuple[str, ...] = ("entropy",)
    if settings.loss == "policy":
        names += ("importance_ratio", "importance_ratio_max", "clipped", "approx_kl", "current")
        names += ("kl_ref",) if options["kl_coefficient"] else ()
        names += ("logprob_gap", "logprob_gap_max") if reduced["current"] else ()
    return names


def _has_gradient(sequence: TrainSequence, settings: UpdateSettings, options: Mapping[str, float]) -> bool:
    if 1 not in sequence.loss_mask.data:
        return False
    if settings.loss == "sft":
        return True
    if options["kl_coefficient"] and sequence.ref_logprobs is not None:
        return True
    advantages = sequence.advantages.data
    return advantages.count(0) < len(advantages)


def _untrained(tokens: Array) -> TrainSequence:
    length = len(tokens)
    zeros = Array("float32", (length,), bytes(4 * length))
    return TrainSequence(tokens, Array("uint8", (length,), bytes(length)), zeros, zeros, "")
