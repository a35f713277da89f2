"""Tasks: one instance of a domain."""

from typing import Any

import msgspec

from assay.core.digest import digest


class TaskRef(msgspec.Struct, frozen=True, array_like=True, order=True):
    """Names a task without its body; all that the coordinator ever holds.

    Attributes:
        source: Digest of the source and its arguments.
        split: `train`, `eval`, `demos` or `canary`.
        index: Position in the source, from 0.
    """

    source: str
    split: str
    index: int


class Task(msgspec.Struct, frozen=True, array_like=True):
    """A task with its body.

    Attributes:
        ref: Its name.
        domain: Full identity `<distribution>/<id>@<version>`.
        fields: Values by field name, as checked against the domain.
    """

    ref: TaskRef
    domain: str
    fields: dict[str, Any]

    @property
    def hash(self) -> str:
        """Digest of the fields: equal tasks are equal whatever source made them."""
        return digest(self.fields)


class Demonstration(msgspec.Struct, frozen=True, array_like=True):
    """A task with a reply to imitate; enters at update without rollout or verify."""

    task: Task
    completion: str
