"""What a verifier sees of an episode."""

from typing import Any

import msgspec

from assay.core.blob import BlobRef
from assay.core.message import Message
from assay.core.trajectory import Trace


class Episode(msgspec.Struct, frozen=True):
    """One finished episode.

    Attributes:
        id: Its number in the ledger.
        domain: Full identity of its domain.
        task: Field values by name.
        messages: The whole dialogue, in order.
        final_text: Text of the last completion.
        answer: What the answer parser read; None where it refused.
        trace: Counters.
        artifacts: Sealed files by name.
    """

    id: int
    domain: str
    task: dict[str, Any]
    messages: tuple[Message, ...]
    final_text: str
    answer: str | None
    trace: Trace
    artifacts: dict[str, BlobRef] = {}
