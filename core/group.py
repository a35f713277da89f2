"""Groups of siblings, and batches of groups or of demonstrations."""

import msgspec

from assay.core.blob import BlobRef
from assay.core.task import TaskRef
from assay.core.trajectory import WeightVersion


class Sibling(msgspec.Struct, frozen=True, array_like=True):
    """A scored episode of a group, as it goes to update.

    Attributes:
        episode: Number in the ledger.
        reward: Finite.
        trajectory: Where its tokens are.
        version: Weights that sampled its first token.
    """

    episode: int
    reward: float
    trajectory: BlobRef
    version: WeightVersion


class Group(msgspec.Struct, frozen=True, array_like=True):
    """Scored siblings of one task; unscored ones are not in it and count in nothing.

    Attributes:
        group: Number in the ledger.
        domain: Name of the mix entry.
        task: The task all siblings played.
        siblings: At least the domain's `min_scored`.
    """

    group: int
    domain: str
    task: TaskRef
    siblings: tuple[Sibling, ...]


class DemonstrationRef(msgspec.Struct, frozen=True, array_like=True):
    """A demonstration without its body.

    Attributes:
        domain: Name of the mix entry.
        task: Its name, split `demos`.
        blob: msgpack of `core.task.Demonstration`.
    """

    domain: str
    task: TaskRef
    blob: BlobRef


class Batch(msgspec.Struct, frozen=True, array_like=True):
    """What one optimizer step consumes; the same for every attempt at that step.

    Attributes:
        step: The step it makes, from 1.
        stage: Name of the curriculum stage.
        groups: In the order of the ledger; empty in an `sft` stage.
        demonstrations: Of an `sft` stage; empty in an `rl` stage.
        shuffled: Rewards were permuted inside each group, as a control.
    """

    step: int
    stage: str
    groups: tuple[Group, ...]
    demonstrations: tuple[DemonstrationRef, ...] = ()
    shuffled: bool = False
