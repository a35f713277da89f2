"""The contract of a trainer: a step trains the tokens it is given and no others, and a checkpoint holds all of it.

The trainer is given a small random policy, as one rank that is a world of its own. What several ranks do together is
tried by a run.
"""

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

import msgspec

from assay.core.array import Array
from assay.core.error import AssayError, TrainerError
from assay.core.leaf import Factory
from assay.core.trainer import LossName, Trainer, TrainSequence, UpdateSettings
from assay.runtime.policy.architecture import Architecture
from assay.runtime.testing.factory import FactoryContract
from assay.runtime.testing.policy import PolicyShelf

State = dict[str, Array]
_VOCAB = 260


class TrainerContract(FactoryContract):
    """What holds of a trainer.

    Attributes:
        trainer: Its factory, called as `factory(policy, seed=..., **options)`.
        tolerance: Largest difference, relative to 1, that another order of float32 sums explains.
    """

    kind = "trainer"
    trainer: ClassVar[Factory]
    tolerance: ClassVar[float] = 1e-4

    def test_it_says_which_rank_it_is(self) -> None:
        """A process alone is rank 0 of 1, trains the whole batch and hears what it broadcasts."""
        with self._open() as trainer:
            got = (trainer.group.rank, trainer.group.world_size, trainer.data_rank, trainer.data_size)
            self.require(got == (0, 1, 0, 1), "a process alone must be rank 0 of 1, with share 0 of 1", got=got)
            heard = trainer.group.broadcast(b"word")
            self.require(heard == b"word", "rank 0 must be given back what it broadcasts", got=heard)

    def test_state_is_the_policy_under_its_own_names(self) -> None:
        """Before the first step: every tensor of the policy, float32, with the values of its folder."""
        expected = dict(self._shelf().state())
        with self._open() as trainer:
            state = _state(trainer)
        wanted = Architecture.read(self._shelf().policy()).tensors()
        got = {name: array.shape for name, array in state.items() if name in wanted}
        self.require(got == wanted, "state must hold every tensor of the policy", got=sorted(set(wanted) ^ set(got)))
        wrong = [name for name in expected if state[name] != expected[name]]
        self.require(not wrong, "state must be the policy's weights", got=", ".join(wrong))

    def test_the_loss_of_imitation_is_the_mean_over_trained_tokens(self) -> None:
        """-log p by the trainer's own `logprobs`, averaged over tokens; they are counted, and it falls with steps."""
        batch = sequences("sft")
        with self._open() as trainer:
            logprobs = trainer.logprobs([sequence.tokens for sequence in batch])
            trained = [
                value
                for sequence, values in zip(batch, logprobs, strict=True)
                for value, mask in zip(values.to_list(), sequence.loss_mask.data[1:], strict=True)
                if mask
            ]
            first = trainer.update(batch, _settings("sft"))
            self._near(first.loss, -sum(trained) / len(trained), "the loss must be the mean of -log p")
            self.require(first.num_tokens == len(trained), f"{len(trained)} tokens are trained", got=first.num_tokens)
            norm_is_one = math.isfinite(first.grad_norm) and first.grad_norm > 0
            self.require(norm_is_one, "a gradient must have a norm", got=first.grad_norm)
            losses = [trainer.update(batch, _settings("sft")).loss for _ in range(4)]
            self.require(losses[-1] < first.loss, "imitation must get better on its own batch", got=losses)

    def test_the_loss_of_reinforcement_is_the_clipped_surrogate(self) -> None:
        """With the behaviour's log-probs its own the ratio is 1 and the loss is -mean(A); far ones are clipped."""
        with self._open() as trainer:
            batch = _with_own_logprobs(trainer, sequences("policy"))
            result = trainer.update(batch, _settings("policy"))
            advantages = [
                value
                for sequence in batch
                for value, mask in zip(sequence.advantages.to_list(), sequence.loss_mask.data, strict=True)
                if mask
            ]
            expected = -sum(advantages) / len(advantages)
            self._near(result.loss, expected, "with a ratio of 1 the loss must be the mean of -A")
        with self._open() as trainer:
            # Sampled at a 20th of the probability they have now: the ratio, 20, counts as 1.2 where A > 0.
            batch = [_praised(one, -3.0) for one in _with_own_logprobs(trainer, sequences("policy"))]
            before = _state(trainer)
            result = trainer.update(batch, _settings("policy"))
            self._near(result.loss, -1.2, "a ratio above 1 + clip_high must count as that")
            self.require(before == _state(trainer), "what is clipped must train nothing", got="other weights")

    def test_tokens_outside_the_mask_train_nothing(self) -> None:
        """Another tail behind the last trained token changes neither loss nor weights."""
        batch = sequences("sft")
        longer = [_with_tail(sequence, number) for number, sequence in enumerate(batch)]
        found = []
        for one in (batch, longer):
            with self._open() as trainer:
                found.append((trainer.update(one, _settings("sft")), _state(trainer)))
        (plain, state), (result, other) = found
        self._near(result.loss, plain.loss, "a tail that is not trained must not change the loss")
        self.require(result.num_tokens == plain.num_tokens, "it must not be counted", got=result.num_tokens)
        self._alike(other, state, "it must not change the weights")

    def test_micro_batches_change_nothing(self) -> None:
        """As small as can be, or all in one: the same loss, norm and weights."""
        found = []
        for micro_tokens in (1, 1 << 20):
            with self._open() as trainer:
                batch = _with_own_logprobs(trainer, sequences("policy"))
                result = trainer.update(batch, _settings("policy", micro_tokens=micro_tokens))
                found.append((result, _state(trainer)))
        (small, state), (large, other) = found
        self._near(small.loss, large.loss, "micro-batches must not change the loss")
        self._near(small.grad_norm, large.grad_norm, "micro-batches must not change the gradient")
        self._alike(state, other, "micro-batches must not change the weights")

    def test_a_batch_that_trains_nothing_is_refused(self) -> None:
        """No trained token, a trained first token, an unknown token, arrays of unequal length: TrainerError."""
        good = sequences("sft")[0]
        length = len(good.tokens)
        change = msgspec.structs.replace
        for what, bad in (
            ("without a trained token", change(good, loss_mask=Array("uint8", (length,), bytes(length)))),
            ("whose first token is trained", change(good, loss_mask=Array("uint8", (length,), b"\x01" * length))),
            ("with an unknown token", change(good, tokens=Array.of([_VOCAB] * length, "int32"))),
            ("with arrays of unequal length", change(good, advantages=Array.of([1.0], "float32"))),
        ):
            with self._open() as trainer:
                before = _state(trainer)
                try:
                    trainer.update([bad], _settings("sft"))
                except TrainerError:
                    pass
                else:
                    self.broken(f"a trainer must refuse a batch {what}", got="nothing said")
                self.require(before == _state(trainer), "the weights must stay", got=f"others, by a batch {what}")

    def test_a_loss_that_is_not_finite_is_refused(self) -> None:
        """TrainerError; weights and the next step are as if it had not been."""
        batch = sequences("policy")
        bad = [msgspec.structs.replace(one, advantages=_scaled(one.advantages, math.inf)) for one in batch]
        found = []
        for should_try in (False, True):
            with self._open() as trainer:
                before = _state(trainer)
                if should_try:
                    try:
                        trainer.update(bad, _settings("policy"))
                    except TrainerError:
                        pass
                    else:
                        self.broken("a trainer must refuse a loss that is not finite", got="nothing said")
                    self.require(before == _state(trainer), "the weights must stay", got="others")
                trainer.update(batch, _settings("policy"))
                found.append(_state(trainer))
        self.require(found[0] == found[1], "a refused step must leave no trace", got="other weights one step later")

    def test_a_resumed_trainer_goes_on_bit_for_bit(self) -> None:
        """Two steps, a checkpoint, a third: the same bytes as loading it in a new trainer and making the third."""
        folder = self.new_folder() / "0.2"
        batches = [sequences("policy", seed) for seed in range(3)]
        with self._open() as trainer:
            for batch in batches[:2]:
                trainer.update(batch, _settings("policy"))
            digest = trainer.save(folder, {"step": 2})
            saved = _state(trainer)
            result = trainer.update(batches[2], _settings("policy"))
            expected = _state(trainer)
        with self._open(seed=1) as trainer:
            extra = trainer.load(folder, digest)
            self.require(extra == {"step": 2}, "a checkpoint must give back what was saved with it", got=extra)
            self.require(saved == _state(trainer), "a checkpoint must give back the weights", got="others")
            again = trainer.update(batches[2], _settings("policy"))
            self.require(again.loss == result.loss, "a resumed step must have the same loss", got=again.loss)
            self.require(expected == _state(trainer), "a resumed step must give the same weights", got="others")

    def test_a_checkpoint_is_a_policy_folder(self) -> None:
        """`assay eval`, `assay export` and an engine read it: configuration, tokenizer and float32 weights."""
        from assay.runtime.policy.chat import read_tokenizer
        from assay.runtime.policy.export import read_state

        folder = self.new_folder() / "0.1"
        with self._open() as trainer:
            trainer.update(sequences("sft"), _settings("sft"))
            trainer.save(folder, {})
            state = _state(trainer)
        expected = Architecture.read(self._shelf().policy())
        try:
            shape, found = Architecture.read(folder), dict(read_state(folder))
            read_tokenizer(folder)
        except AssayError as error:
            self.broken("a checkpoint must be a policy folder", got=error)
        self.require(shape == expected, "a checkpoint must have the policy's shape", got=shape)
        wrong = [name for name in expected.tensors() if found.get(name) != state[name]]
        self.require(not wrong, "a checkpoint must hold the weights", got=", ".join(wrong))

    def test_a_checkpoint_that_is_not_what_its_digest_says_is_refused(self) -> None:
        """A changed byte, a missing folder: TrainerError, and the weights stay."""
        folder = self.new_folder() / "0.1"
        with self._open() as trainer:
            trainer.update(sequences("sft"), _settings("sft"))
            digest = trainer.save(folder, {})
            trainer.update(sequences("sft", 1), _settings("sft"))
            before = _state(trainer)
            largest = max(folder.iterdir(), key=lambda path: path.stat().st_size)
            data = largest.read_bytes()
            largest.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
            for what, place in (("a changed", folder), ("a missing", folder.with_name("0.9"))):
                try:
                    trainer.load(place, digest)
                except TrainerError:
                    pass
                else:
                    self.broken(f"a trainer must refuse {what} checkpoint", got="nothing said")
                self.require(before == _state(trainer), "the weights must stay", got="others")

    def test_a_reset_optimizer_remembers_nothing(self) -> None:
        """A step after a reset is that of a new optimizer: of the size of the rate, whatever came before."""
        batch = sequences("sft")
        with self._open() as trainer:
            trainer.update(sequences("sft", 1), _settings("sft", lr=0.0))  # moments, and the same weights
            trainer.reset_optimizer()
            trainer.update(batch, _settings("sft"))
            reset = _state(trainer)
        with self._open() as trainer:
            trainer.update(batch, _settings("sft"))
            fresh = _state(trainer)
        self._alike(reset, fresh, "a step after a reset must be that of a new optimizer", tolerance=1e-6)

    def _shelf(self) -> PolicyShelf:
        return self.resource("shelf", lambda: PolicyShelf(self.new_folder))

    @contextmanager
    def _open(self, seed: int = 0) -> Iterator[Trainer]:
        """A process holds one trainer at a time, as a rank does."""
        trainer: Trainer = self.make(self._shelf().policy(), seed=seed)
        try:
            yield trainer
        finally:
            trainer.close()

    def _near(self, actual: float, expected: float, must: str) -> None:
        is_near = abs(actual - expected) <= self.tolerance * max(1.0, abs(expected))
        self.require(is_near, f"{must}: {expected:.6g}", got=f"{actual:.6g}")

    def _alike(self, state: State, other: State, must: str, tolerance: float | None = None) -> None:
        gap, name = max(
            (max(abs(a - b) for a, b in zip(state[name].to_list(), other[name].to_list(), strict=True)), name)
            for name in state
        )
        limit = self.tolerance if tolerance is None else tolerance
        self.require(gap <= limit, must, got=f"a difference of {gap:.3g} in {name}")


def sequences(loss: LossName, seed: int = 0, number: int = 8) -> list[TrainSequence]:
    """Return sequences of several lengths with random tokens, masks, log-probs and advantages."""
    rng = random.Random(seed)
    batch = []
    for episode in range(number):
        length, num_trained = rng.randint(6, 24), rng.randint(1, 5)
        mask = [0] * (length - num_trained) + [1] * num_trained
        # For reinforcement, advantages of both signs whose mean is not 0.
        advantage = 1.0 if loss == "sft" else rng.choice((-0.5, 1.0)) * (1 + episode / 10)
        logprob = 0.0 if loss == "sft" else -5.0
        batch.append(
            TrainSequence(
                tokens=Array.of([rng.randrange(_VOCAB) for _ in range(length)], "int32"),
                loss_mask=Array.of(mask, "uint8"),
                behavior_logprobs=Array.of([logprob * one for one in mask], "float32"),
                advantages=Array.of([advantage * one for one in mask], "float32"),
                domain="testing",
                episode=-1 if loss == "sft" else episode,
            )
        )
    return batch


def _settings(loss: LossName, *, lr: float = 1e-2, micro_tokens: int = 16384) -> UpdateSettings:
    options = {"clip_low": 0.2, "clip_high": 0.2}
    return UpdateSettings(loss, lr=lr, micro_tokens=micro_tokens, loss_options=options if loss == "policy" else {})


def _with_own_logprobs(trainer: Trainer, batch: Sequence[TrainSequence]) -> list[TrainSequence]:
    found = trainer.logprobs([sequence.tokens for sequence in batch])
    return [
        msgspec.structs.replace(
            sequence,
            behavior_logprobs=Array.of(
                [value * mask for value, mask in zip([0.0, *own.to_list()], sequence.loss_mask.data, strict=True)],
                "float32",
            ),
        )
        for sequence, own in zip(batch, found, strict=True)
    ]


def _praised(sequence: TrainSequence, shift: float) -> TrainSequence:
    mask = sequence.loss_mask.data
    logprobs = [value + shift * one for value, one in zip(sequence.behavior_logprobs.to_list(), mask, strict=True)]
    return msgspec.structs.replace(
        sequence,
        behavior_logprobs=Array.of(logprobs, "float32"),
        advantages=Array.of([float(one) for one in mask], "float32"),
    )


def _with_tail(sequence: TrainSequence, seed: int) -> TrainSequence:
    rng = random.Random(seed)
    tail = Array.of([rng.randrange(_VOCAB) for _ in range(1 + seed % 7)], "int32")
    length = len(sequence.tokens) + len(tail)
    zeros = bytes(4 * len(tail))
    return msgspec.structs.replace(
        sequence,
        tokens=Array("int32", (length,), sequence.tokens.data + tail.data),
        loss_mask=Array("uint8", (length,), sequence.loss_mask.data + bytes(len(tail))),
        behavior_logprobs=Array("float32", (length,), sequence.behavior_logprobs.data + zeros),
        advantages=Array("float32", (length,), sequence.advantages.data + zeros),
    )


def _scaled(array: Array, factor: float) -> Array:
    return Array.of([value and factor * value for value in array.to_list()], "float32")


def _state(trainer: Trainer) -> State:
    return dict(trainer.state())
