"""One process with a model of transformers and torch's AdamW.

Losses, micro-batches and checkpoint folders are those of Assay's own trainer, so that a step differs from Megatron's
only by rounding, and `assay eval` reads the checkpoints.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from assay.core.array import Array
from assay.core.error import TrainerError
from assay.core.trainer import OneRank, TrainSequence, UpdateResult, UpdateSettings
from assay.runtime.policy.architecture import Architecture
from assay.runtime.trainer.batch import MicroBatch, check_sequences, micro_batch, pack
from assay.runtime.trainer.checkpoint import read_checkpoint, write_checkpoint
from assay.runtime.trainer.loss import MEANS, POLICY_OPTIONS, LossSums, policy_loss, sft_loss, token_logprobs


class TorchTrainer:
    """See `assay.core.trainer.Trainer`.

    Args:
        policy: Hugging Face folder.
        beta1: AdamW's decay of the first moment.
        beta2: AdamW's decay of the second moment.
        epsilon: AdamW's.
        device: Where the policy lies.
        seed: Of torch's generator; nothing here draws from it.
    """

    def __init__(
        self,
        policy: Path,
        *,
        beta1: float = 0.9,
        beta2: float = 0.95,
        epsilon: float = 1e-8,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        torch.manual_seed(seed)
        self.group, self.data_rank, self.data_size = OneRank(), 0, 1
        self._folder, self._device = Path(policy), torch.device(device)
        self._shape = Architecture.read(self._folder)
        model: Any = AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32)
        self._model = model.to(self._device).eval()
        # transformers keeps the gradient from the row of the pad token, which may stand in a text like any other.
        self._model.get_input_embeddings().padding_idx = None
        named = dict(self._model.named_parameters())
        # A tied output layer is the embedding, and has no name of its own.
        self._parameters: dict[str, Tensor] = {name: named[name] for name in self._shape.tensors()}
        decayed = [one for one in self._parameters.values() if one.ndim > 1]
        plain = [one for one in self._parameters.values() if one.ndim == 1]
        self._optimizer = torch.optim.AdamW(
            [{"params": decayed}, {"params": plain}], betas=(beta1, beta2), eps=epsilon, weight_decay=0.0
        )
        self._step = 0

    def update(self, sequences: Sequence[TrainSequence], settings: UpdateSettings) -> UpdateResult:
        """Make one step; sequences whose advantages are all zero have no gradient and are left out."""
        check_sequences(sequences, self._shape.vocab_size)
        num_trained = sum(one.loss_mask.data.count(1) for one in sequences)
        if not num_trained:
            raise TrainerError("a batch must have a trained token", got="none")
        kept = [one for one in sequences if 1 in one.loss_mask.data and any(one.advantages.data)]
        num_kept = sum(one.loss_mask.data.count(1) for one in kept)
        skipped = {"skipped": 1.0 - num_kept / num_trained}
        if not num_kept:
            return UpdateResult(0.0, 0.0, 0, skipped)
        options = {**POLICY_OPTIONS, **settings.loss_options}
        self._optimizer.zero_grad()
        totals, denominator = torch.zeros(len(MEANS), dtype=torch.float64), 0
        for indices in pack([len(one.tokens) for one in kept], settings.micro_tokens):
            sums = self._loss(micro_batch([kept[index] for index in indices], self._device), settings, options)
            sums.objective.backward()
            totals += sums.sums.cpu()
            denominator += int(sums.denominator)
        loss = float(totals[0]) / denominator
        gradients = []
        for parameter in self._parameters.values():
            gradients.append(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad / denominator)
            parameter.grad = gradients[-1]
        norm = float(torch.nn.utils.get_total_norm(gradients))
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise TrainerError("a loss and its gradient must be finite", got=f"{loss} and {norm}")
        torch.nn.utils.clip_grads_with_norm_(self._parameters.values(), settings.max_grad_norm, torch.tensor(norm))
        for group, decay in zip(self._optimizer.param_groups, (settings.weight_decay, 0.0), strict=True):
            group["lr"], group["weight_decay"] = settings.lr, decay
        self._optimizer.step()
        self._step += 1
        means = {name: value / num_kept for name, value in zip(MEANS, totals.tolist(), strict=True)}
        shown = ("entropy",) if settings.loss == "sft" else ("entropy", "importance_ratio", "clipped", "approx_kl")
        return UpdateResult(loss, norm, num_kept, {name: means[name] for name in shown} | skipped)

    def logprobs(self, sequences: Sequence[Array]) -> list[Array]:
        """Return log-probs of each token after the first."""
        found = []
        for tokens in sequences:
            ids_T = torch.tensor(tokens.to_list(), device=self._device)
            with torch.no_grad():
                logits_TV = self._model(input_ids=ids_T[None, :-1], use_cache=False).logits[0]
                values_T = token_logprobs(logits_TV, ids_T[1:])[0]
            found.append(Array("float32", (len(tokens) - 1,), values_T.cpu().numpy().tobytes()))
        return found

    def state(self) -> Iterator[tuple[str, Array]]:
        """Yield the weights under their Hugging Face names."""
        for name, tensor in self._weights().items():
            yield name, Array("float32", tuple(tensor.shape), tensor.numpy().tobytes())

    def reset_optimizer(self) -> None:
        """Forget moments and step count."""
        self._optimizer.state.clear()

    def save(self, folder: Path, extra: dict[str, Any]) -> str:
        """Write a checkpoint; returns its digest."""
        moments = {
            f"{key}.{name}": value.cpu().clone()
            for name, parameter in self._parameters.items()
            for key, value in self._optimizer.state.get(parameter, {}).items()
        }
        state = {"step": self._step, "extra": extra}
        return write_checkpoint(folder, self._weights(), moments, state, self._folder)

    def load(self, folder: Path, digest: str) -> dict[str, Any]:
        """Read a checkpoint; returns `extra`."""
        checkpoint = read_checkpoint(folder, digest)
        self.reset_optimizer()
        for name, parameter in self._parameters.items():
            parameter.data.copy_(checkpoint.weights[name])
            keys = ("step", "exp_avg", "exp_avg_sq")
            found = {
                key: checkpoint.optimizer[f"{key}.{name}"] for key in keys if f"{key}.{name}" in checkpoint.optimizer
            }
            if found:
                self._optimizer.state[parameter] = {
                    key: value if key == "step" else value.to(self._device) for key, value in found.items()
                }
        self._step = checkpoint.state["step"]
        extra: dict[str, Any] = checkpoint.state["extra"]
        return extra

    def close(self) -> None:
        """Let go of the model."""
        del self._model, self._parameters, self._optimizer

    def _loss(self, batch: MicroBatch, settings: UpdateSettings, options: Mapping[str, float]) -> LossSums:
        logits_BTV = self._model(input_ids=batch.tokens_BT, use_cache=False).logits
        logprobs_BT, entropy_BT = token_logprobs(logits_BTV, batch.labels_BT)
        if settings.loss == "sft":
            return sft_loss(logprobs_BT, entropy_BT, batch)
        return policy_loss(logprobs_BT, entropy_BT, batch, options)

    def _weights(self) -> dict[str, Tensor]:
        return {name: one.detach().cpu().contiguous().clone() for name, one in self._parameters.items()}
