"""Every clause of the contract of trainers turns red for a trainer that breaks it."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from red import breaks

from assay.core.array import Array
from assay.core.error import TrainerError
from assay.core.trainer import TrainSequence, UpdateResult, UpdateSettings
from assay.runtime.testing.trainer import TrainerContract
from assay.runtime.trainer.checkpoint import folder_digest
from assay.runtime.trainer.megatron import MegatronTrainer

pytestmark = pytest.mark.slow  # Megatron is imported

change = msgspec.structs.replace


class Halved(MegatronTrainer):
    """Takes itself for one of two."""

    def __init__(self, policy: Path, **options: Any) -> None:
        super().__init__(policy, **options)
        self.data_size = 2


class Renaming(MegatronTrainer):
    """Has names of its own."""

    def state(self) -> Iterator[tuple[str, Array]]:
        for name, array in super().state():
            yield name.removeprefix("model."), array


class Summing(MegatronTrainer):
    """Reports a sum as the mean."""

    def update(self, sequences: Sequence[TrainSequence], settings: UpdateSettings) -> UpdateResult:
        result = super().update(sequences, settings)
        return change(result, loss=result.loss * result.num_tokens)


class Unclipped(MegatronTrainer):
    """Takes no notice of the clip."""

    def update(self, sequences: Sequence[TrainSequence], settings: UpdateSettings) -> UpdateResult:
        return super().update(sequences, change(settings, loss_options={"clip_high": 1e9}))


class Maskless(MegatronTrainer):
    """Trains everything behind the first trained token."""

    def update(self, sequences: Sequence[TrainSequence], settings: UpdateSettings) -> UpdateResult:
        batch = []
        for one in sequences:
            mask, first = one.loss_mask.data, one.loss_mask.data.find(1)
            batch.append(change(one, loss_mask=change(one.loss_mask, data=mask[:first] + b"\x01" * len(mask[first:]))))
        return super().update(batch, settings)


class Stepping(MegatronTrainer):
    """Takes a larger step for smaller micro-batches."""

    def update(self, sequences: Sequence[TrainSequence], settings: UpdateSettings) -> UpdateResult:
        return super().update(sequences, change(settings, lr=settings.lr * (2 if settings.micro_tokens < 9 else 1)))


class Silent(MegatronTrainer):
    """Refuses nothing."""

    def update(self, sequences: Sequence[TrainSequence], settings: UpdateSettings) -> UpdateResult:
        try:
            return super().update(sequences, settings)
        except TrainerError:
            return UpdateResult(0.0, 0.0, 0)


class Scarred(MegatronTrainer):
    """Refuses and forgets its moments."""

    def update(self, sequences: Sequence[TrainSequence], settings: UpdateSettings) -> UpdateResult:
        try:
            return super().update(sequences, settings)
        except TrainerError:
            super().update([_finite(one) for one in sequences], change(settings, lr=0.0))
            raise


class Amnesiac(MegatronTrainer):
    """Loads weights, and no moments."""

    def load(self, folder: Path, digest: str) -> dict[str, Any]:
        extra = super().load(folder, digest)
        self.reset_optimizer()
        return extra


class Bare(MegatronTrainer):
    """Leaves the tokenizer out."""

    def save(self, folder: Path, extra: dict[str, Any]) -> str:
        super().save(folder, extra)
        (folder / "tokenizer.json").unlink()
        return folder_digest(folder)


class Trusting(MegatronTrainer):
    """Compares no digest."""

    def load(self, folder: Path, digest: str) -> dict[str, Any]:
        return super().load(folder, folder_digest(folder) if folder.exists() else digest)


class Stubborn(MegatronTrainer):
    """Keeps its moments."""

    def reset_optimizer(self) -> None:
        pass


def _finite(sequence: TrainSequence) -> TrainSequence:
    return change(sequence, advantages=Array.of([float(one) for one in sequence.loss_mask.data], "float32"))


RED = [
    ("test_it_says_which_rank_it_is", Halved, "a process alone must be rank 0 of 1"),
    ("test_state_is_the_policy_under_its_own_names", Renaming, "state must hold every tensor of the policy"),
    ("test_the_loss_of_imitation_is_the_mean_over_trained_tokens", Summing, "the loss must be the mean of -log p"),
    ("test_the_loss_of_reinforcement_is_the_clipped_surrogate", Unclipped, "a ratio above 1 + clip_high must count"),
    ("test_tokens_outside_the_mask_train_nothing", Maskless, "a tail that is not trained must not change the loss"),
    ("test_micro_batches_change_nothing", Stepping, "micro-batches must not change the weights"),
    ("test_a_batch_that_trains_nothing_is_refused", Silent, "a trainer must refuse a batch without a trained token"),
    ("test_a_loss_that_is_not_finite_is_refused", Silent, "a trainer must refuse a loss that is not finite"),
    ("test_a_loss_that_is_not_finite_is_refused", Scarred, "a refused step must leave no trace"),
    ("test_a_resumed_trainer_goes_on_bit_for_bit", Amnesiac, "a resumed step must give the same weights"),
    ("test_a_checkpoint_is_a_policy_folder", Bare, "a checkpoint must be a policy folder"),
    ("test_a_checkpoint_that_is_not_what_its_digest_says_is_refused", Trusting, "a trainer must refuse a changed"),
    ("test_a_reset_optimizer_remembers_nothing", Stubborn, "a step after a reset must be that of a new optimizer"),
]


@pytest.mark.parametrize(("clause", "wrong", "must"), RED, ids=[one[1].__name__ for one in RED])
def test_wrong_trainer_breaks_its_clause(clause: str, wrong: type, must: str) -> None:
    assert breaks(TrainerContract, clause, wrong).startswith(must)
