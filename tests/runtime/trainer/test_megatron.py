import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
import transformers

from assay.core.array import Array
from assay.core.error import TrainerError
from assay.core.trainer import TrainSequence, UpdateSettings

pytestmark = pytest.mark.slow

SFT = UpdateSettings("sft", lr=1e-2, weight_decay=0.1)
POLICY = UpdateSettings("policy", lr=1e-2, weight_decay=0.1, max_grad_norm=0.5)
# AdamW divides by the root of the second moment: a large epsilon keeps rounding from deciding the sign of a step.
WELL_CONDITIONED = {"epsilon": 1e-2}

Batch = Callable[..., list[TrainSequence]]
MakeTrainer = Callable[..., Any]


def to_numpy(array: Array) -> np.ndarray:
    return np.frombuffer(array.data, {"float32": "<f4", "int32": "<i4", "uint8": "u1"}[array.dtype]).reshape(
        array.shape
    )


def state_of(trainer: Any) -> dict[str, np.ndarray]:
    return {name: to_numpy(array) for name, array in trainer.state()}


def distance(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> float:
    assert first.keys() == second.keys()
    return max(float(np.abs(first[name] - second[name]).max()) for name in first)


def reference_model(folder: Path) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)


def reference_logprobs(model: Any, tokens: Array) -> torch.Tensor:
    ids = torch.tensor(tokens.to_list())[None]
    return model(ids).logits.log_softmax(-1)[0, :-1].gather(-1, ids[0, 1:, None]).squeeze(-1)


def reference_steps(folder: Path, batches: Sequence[list[TrainSequence]], settings: UpdateSettings) -> Any:
    """Plain transformers in float64, one unpadded sequence at a time, with PyTorch's own clip and AdamW."""
    model = reference_model(folder)
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    groups = [{"params": matrices, "weight_decay": settings.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=settings.lr, betas=(0.9, 0.95), eps=WELL_CONDITIONED["epsilon"])
    results = []
    for sequences in batches:
        total, count = torch.zeros((), dtype=torch.float64), 0
        for sequence in sequences:
            logprobs = reference_logprobs(model, sequence.tokens)
            mask = torch.tensor(sequence.loss_mask.to_list())[1:]
            advantages = torch.tensor(sequence.advantages.to_list()).double()[1:]
            loss = -logprobs
            if settings.loss == "policy":
                ratio = (logprobs - torch.tensor(sequence.behavior_logprobs.to_list()).double()[1:]).exp()
                loss = -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
            total, count = total + (loss * mask).sum(), count + int(mask.sum())
        (total / count).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
        results.append((float((total / count).detach()), float(norm), count))
    return model, results


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_log_probs_equal_those_of_transformers(
    family: str, make_policy: Callable[..., Path], make_trainer: MakeTrainer, make_batch: Batch
) -> None:
    folder = make_policy(family)
    tokens = [sequence.tokens for sequence in make_batch()] + [Array.of([3], "int32")]
    model = reference_model(folder)
    for ids, found in zip(tokens, make_trainer(folder).logprobs(tokens), strict=True):
        expected = reference_logprobs(model, ids).detach().numpy()
        assert expected.shape == found.shape
        assert float(np.abs(expected - to_numpy(found)).max(initial=0.0)) < 1e-5


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("settings", [SFT, POLICY], ids=["sft", "policy"])
def test_steps_equal_those_of_transformers(
    family: str,
    settings: UpdateSettings,
    make_policy: Callable[..., Path],
    make_trainer: MakeTrainer,
    make_batch: Batch,
) -> None:
    folder = make_policy(family)
    batches = [make_batch(seed, is_policy=settings.loss == "policy") for seed in range(3)]
    model, expected = reference_steps(folder, batches, settings)
    trainer = make_trainer(folder, **WELL_CONDITIONED)
    for batch, (loss, norm, count) in zip(batches, expected, strict=True):
        result = trainer.update(batch, settings)
        assert (pytest.approx(loss, rel=1e-5), pytest.approx(norm, rel=1e-4), count) == (
            result.loss,
            result.grad_norm,
            result.num_tokens,
        )
    weights = {name: weight.numpy() for name, weight in model.state_dict().items()}
    found = state_of(trainer)
    assert distance(found, {name: weights[name] for name in found}) < 2e-6


def test_state_has_the_names_and_bytes_of_the_folder(
    make_policy: Callable[..., Path], make_trainer: MakeTrainer
) -> None:
    for family in ("llama", "qwen3"):
        folder = make_policy(family)
        stored = {
            n: w.numpy() for n, w in transformers.AutoModelForCausalLM.from_pretrained(folder).state_dict().items()
        }
        if family == "llama":
            del stored["lm_head.weight"]  # Tied.
        assert 0.0 == distance(stored, state_of(make_trainer(folder)))


@pytest.mark.parametrize("settings", [SFT, POLICY], ids=["sft", "policy"])
@pytest.mark.parametrize("per_sequence", [0.0, 1.0])
def test_micro_batches_and_order_change_nothing(
    settings: UpdateSettings, per_sequence: float, policy: Path, make_trainer: MakeTrainer, make_batch: Batch
) -> None:
    batch = make_batch(number=15, is_policy=settings.loss == "policy")
    outcomes = []
    for micro_tokens, order in ((10_000, 1), (10_000, -1), (30, 1), (1, -1)):
        trainer = make_trainer(policy, **WELL_CONDITIONED)
        chosen = msgspec.structs.replace(
            settings, micro_tokens=micro_tokens, loss_options={"per_sequence": per_sequence}
        )
        outcomes.append((trainer.update(batch[::order], chosen), state_of(trainer)))
    (first, weights), *others = outcomes
    for result, other in others:
        assert pytest.approx(first.loss, rel=1e-5) == result.loss
        assert pytest.approx(first.grad_norm, rel=1e-5) == result.grad_norm
        assert first.num_tokens == result.num_tokens
        assert pytest.approx(first.metrics, rel=1e-4, abs=1e-6) == result.metrics
        assert distance(weights, other) < 1e-6


def test_untrained_tokens_and_padding_change_nothing(
    policy: Path, make_trainer: MakeTrainer, make_batch: Batch
) -> None:
    batch = make_batch(number=4)
    tail = [
        msgspec.structs.replace(
            sequence,
            tokens=Array.of([*sequence.tokens.to_list(), 1, 2, 3], "int32"),
            loss_mask=Array.of([*sequence.loss_mask.to_list(), 0, 0, 0], "uint8"),
            behavior_logprobs=Array.of([*sequence.behavior_logprobs.to_list(), 0, 0, 0], "float32"),
            advantages=Array.of([*sequence.advantages.to_list(), 0, 0, 0], "float32"),
        )
        for sequence in batch
    ]
    plain, longer = (make_trainer(policy).update(sequences, SFT) for sequences in (batch, tail))
    assert pytest.approx(plain.loss, rel=1e-6) == longer.loss
    assert pytest.approx(plain.grad_norm, rel=1e-5) == longer.grad_norm


def test_equal_runs_are_equal_bit_for_bit(policy: Path, make_trainer: MakeTrainer, make_batch: Batch) -> None:
    states = []
    for _ in range(2):
        trainer = make_trainer(policy)
        for seed in range(3):
            trainer.update(make_batch(seed), SFT)
        states.append(state_of(trainer))
    assert 0.0 == distance(*states)


def test_resumed_run_equals_the_uninterrupted_one_bit_for_bit(
    policy: Path, make_trainer: MakeTrainer, make_batch: Batch, tmp_path: Path
) -> None:
    batches = [make_batch(seed, is_policy=True) for seed in range(6)]
    trainer = make_trainer(policy)
    for batch in batches[:3]:
        trainer.update(batch, POLICY)
    digest = trainer.save(tmp_path / "3", {"lineage": 2})
    draw = torch.rand(3)
    expected = [trainer.update(batch, POLICY) for batch in batches[3:]]
    weights = state_of(trainer)

    resumed = make_trainer(policy, seed=9)
    assert {"lineage": 2} == resumed.load(tmp_path / "3", digest)
    assert 3 == resumed.step
    assert torch.equal(draw, torch.rand(3))
    assert expected == [resumed.update(batch, POLICY) for batch in batches[3:]]
    assert 0.0 == distance(weights, state_of(resumed))


def test_checkpoint_of_a_fresh_trainer_restores_a_fresh_trainer(
    policy: Path, make_trainer: MakeTrainer, make_batch: Batch, tmp_path: Path
) -> None:
    trainer = make_trainer(policy)
    digest = trainer.save(tmp_path / "0", {})
    expected = trainer.update(make_batch(), SFT)
    trainer.update(make_batch(1), SFT)
    trainer.load(tmp_path / "0", digest)
    assert expected == trainer.update(make_batch(), SFT)


def test_checkpoint_loads_in_transformers(
    policy: Path, make_trainer: MakeTrainer, make_batch: Batch, tmp_path: Path
) -> None:
    trainer = make_trainer(policy)
    trainer.update(make_batch(), SFT)
    trainer.save(tmp_path / "1", {})
    tokens = make_batch(5)[0].tokens
    expected = reference_logprobs(reference_model(tmp_path / "1"), tokens).detach().numpy()
    assert float(np.abs(expected - to_numpy(trainer.logprobs([tokens])[0])).max()) < 1e-5


def test_checkpoint_with_another_digest_is_refused_and_changes_nothing(
    policy: Path, make_trainer: MakeTrainer, make_batch: Batch, tmp_path: Path
) -> None:
    trainer = make_trainer(policy)
    trainer.save(tmp_path / "0", {})
    trainer.update(make_batch(), SFT)
    before = state_of(trainer)
    with pytest.raises(TrainerError, match="digest"):
        trainer.load(tmp_path / "0", "0" * 64)
    assert 0.0 == distance(before, state_of(trainer))


def test_optimizer_that_was_reset_steps_like_a_new_one(
    policy: Path, make_trainer: MakeTrainer, make_batch: Batch, tmp_path: Path
) -> None:
    trainer = make_trainer(policy)
    trainer.update(make_batch(), SFT)
    trainer.save(tmp_path / "1", {})
    trainer.reset_optimizer()
    trainer.update(make_batch(1), SFT)
    after = state_of(trainer)
    fresh = make_trainer(tmp_path / "1")
    fresh.update(make_batch(1), SFT)
    assert 0.0 == distance(after, state_of(fresh))


def test_bad_batch_is_refused_and_changes_nothing(policy: Path, make_trainer: MakeTrainer, make_batch: Batch) -> None:
    good, other = make_batch(), make_batch(1)
    trainer = make_trainer(policy)
    trainer.update(good, SFT)
    untrained = [
        msgspec.structs.replace(sequence, loss_mask=Array("uint8", sequence.tokens.shape, bytes(len(sequence.tokens))))
        for sequence in good
    ]
    poisoned, huge = (
        [
            msgspec.structs.replace(sequence, advantages=Array.of([value] * len(sequence.tokens), "float32"))
            for sequence in good
        ]
        for value in (math.nan, 1e30)
    )
    out_of_range = [msgspec.structs.replace(good[0], tokens=Array.of([999] * len(good[0].tokens), "int32"))]
    before = state_of(trainer)
    for sequences, settings, message in (
        ([], SFT, "trained token"),
        (untrained, SFT, "trained token"),
        (poisoned, POLICY, "loss must be finite"),
        # A loss that float32 still holds, and a gradient whose square it does not.
        (huge, POLICY, "gradient must be finite"),
        (out_of_range, SFT, "token ids"),
    ):
        with pytest.raises(TrainerError, match=message):
            trainer.update(sequences, settings)
    assert 0.0 == distance(before, state_of(trainer))
    expected = trainer.update(other, SFT)
    undisturbed = make_trainer(policy)
    undisturbed.update(good, SFT)
    assert expected == undisturbed.update(other, SFT)


def test_sequences_without_advantage_are_left_out(policy: Path, make_trainer: MakeTrainer, make_batch: Batch) -> None:
    batch = make_batch(is_policy=True)
    flat = [
        msgspec.structs.replace(s, advantages=Array("float32", s.tokens.shape, bytes(4 * len(s.tokens))))
        for s in make_batch(1, is_policy=True)
    ]
    alone = make_trainer(policy).update(batch, POLICY)
    mixed = make_trainer(policy).update(batch + flat, POLICY)
    assert (alone.loss, alone.grad_norm, alone.num_tokens) == (mixed.loss, mixed.grad_norm, mixed.num_tokens)
    num_flat = sum(sum(sequence.loss_mask.to_list()) for sequence in flat)
    assert pytest.approx(num_flat / (num_flat + alone.num_tokens)) == mixed.metrics["skipped"]
    trainer = make_trainer(policy)
    before = state_of(trainer)
    assert 0 == trainer.update(flat, POLICY).num_tokens
    assert 0.0 == distance(before, state_of(trainer))


def test_gap_is_measured_where_the_sampler_had_the_same_weights(
    policy: Path, make_trainer: MakeTrainer, make_batch: Batch
) -> None:
    trainer = make_trainer(policy)
    batch = []
    for sequence in make_batch(is_policy=True):
        (logprobs,) = trainer.logprobs([sequence.tokens])
        mask = sequence.loss_mask.to_list()
        near = [0.0, *(x + 0.25 for x in logprobs.to_list())]
        batch.append(
            msgspec.structs.replace(
                sequence,
                behavior_logprobs=Array.of([x * m for x, m in zip(near, mask, strict=True)], "float32"),
                staleness=Array.of([sequence.episode % 2] * len(mask), "int32"),
            )
        )
    metrics = trainer.update(batch, POLICY).metrics
    assert pytest.approx(0.25, abs=1e-5) == metrics["logprob_gap"]
    assert pytest.approx(0.25, abs=1e-5) == metrics["logprob_gap_max"]
    assert 0.0 < metrics["current"] < 1.0
    stale = [msgspec.structs.replace(s, staleness=None) for s in batch]
    assert "logprob_gap" not in trainer.update(stale, POLICY).metrics


def test_reference_log_probs_pull_the_policy_back(policy: Path, make_trainer: MakeTrainer, make_batch: Batch) -> None:
    trainer = make_trainer(policy)
    batch = []
    for sequence in make_batch(is_policy=True):
        (logprobs,) = trainer.logprobs([sequence.tokens])
        mask = sequence.loss_mask.to_list()
        values = [x * m for x, m in zip([0.0, *logprobs.to_list()], mask, strict=True)]
        ref = Array.of([x - 0.5 * m for x, m in zip(values, mask, strict=True)], "float32")
        flat = Array("float32", sequence.tokens.shape, bytes(4 * len(mask)))
        batch.append(msgspec.structs.replace(sequence, behavior_logprobs=ref, ref_logprobs=ref, advantages=flat))
    settings = msgspec.structs.replace(POLICY, loss_options={"kl_coefficient": 2.0})
    result = trainer.update(batch, settings)
    expected = math.exp(-0.5) + 0.5 - 1.0
    assert pytest.approx(expected, rel=1e-4) == result.metrics["kl_ref"]
    assert pytest.approx(2.0 * expected, rel=1e-4) == result.loss


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "gpt2"}, "model_type"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 10.0}}, "rope_type"),
        ({"attention_bias": True}, "attention_bias"),
    ],
)
def test_policy_that_megatron_would_compute_otherwise_is_refused(
    change: dict[str, Any], message: str, policy: Path, tmp_path: Path
) -> None:
    from assay.runtime.trainer.spec import read_policy_config

    config = json.loads((policy / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(TrainerError, match=message):
        read_policy_config(tmp_path)


def test_policy_without_configuration_is_refused(tmp_path: Path) -> None:
    from assay.runtime.trainer.spec import read_policy_config

    with pytest.raises(TrainerError, match=r"config\.json"):
        read_policy_config(tmp_path)
