"""Messages of an episode: the domain's templates with the fields of one task."""

from collections.abc import Mapping
from typing import Any

from assay.core.message import Message
from assay.dsl.program import Program
from assay.dsl.template import fill


def opening(program: Program, fields: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return the messages that begin an episode."""
    messages = [] if program.system is None else [Message.of_text("system", fill(program.system, fields))]
    return (*messages, Message.of_text("user", fill(program.prompt, fields)))
