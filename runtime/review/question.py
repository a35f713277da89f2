"""What a person is asked about one episode.

A verifier of the tier `human` has the parameters of `human.mark` and its one signal. Its code never runs: its arguments
are the question, and its signal is the answer.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.digest import digest
from assay.core.error import ConfigError
from assay.core.kind import Kind
from assay.core.quantity import parse_duration
from assay.dsl.program import Program
from assay.runtime.run.argument import bind

SIGNAL = "mark"
LOW, HIGH, PATIENCE = 0.0, 1.0, "24h"
MAX_PATIENCE_S = 7 * 24 * 3600.0
"""The `timeout` of `human.mark`: leases and limits of a run are made for it."""
_UNKNOWN = "a field of the task"


class Question(msgspec.Struct, frozen=True):
    """One question.

    Attributes:
        text: As it is shown.
        low: Answer that is worth 0.
        high: Answer that is worth 1; with 0 and 1 it is a yes or no.
        patience_s: After so long without an answer the episode is unscored.
    """

    text: str
    low: float = LOW
    high: float = HIGH
    patience_s: float = 24 * 3600.0

    @property
    def id(self) -> str:
        """Names the question whatever it is called in a domain: an edit of its text or scale asks anew."""
        return digest([self.text, self.low, self.high])[:16]

    @property
    def is_binary(self) -> bool:
        """Whether the answer is yes or no."""
        return (self.low, self.high) == (0.0, 1.0)

    def worth(self, value: float) -> float:
        """Return an answer on the scale as a mark in [0, 1]."""
        return (value - self.low) / (self.high - self.low)


def read_question(arguments: Mapping[str, Any]) -> Question:
    """Return the question that bound arguments ask.

    Raises:
        ValueError: a text that is empty, a scale that is none, or a patience that no run keeps.
    """
    text = arguments.get("question")
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"a question must have a text, got {text!r}")
    low, high = float(arguments.get("low", LOW)), float(arguments.get("high", HIGH))
    if not low < high:
        raise ValueError(f"a question must have low < high, got {low:g} and {high:g}")
    patience_s = parse_duration(str(arguments.get("patience", PATIENCE)))
    if not 0.0 < patience_s <= MAX_PATIENCE_S:
        raise ValueError(f"patience must be above 0 and at most {MAX_PATIENCE_S / 3600:g}h, got {patience_s / 3600:g}h")
    return Question(text, low, high, patience_s)


def people_of(program: Program) -> tuple[str, ...]:
    """Return the names under `verify:` that people answer."""
    return tuple(name for name, verify in program.verify.items() if verify.tier == "human")


def asked_of(program: Program, name: str, fields: Mapping[str, Any]) -> Question:
    """Return the question of one verification about one task.

    Raises:
        ValueError: it cannot be asked.
    """
    return read_question(bind(program.verify[name].use, program.params, fields))


def check_people(program: Program, at: str) -> None:
    """Refuse what people cannot answer, as far as it is known before there is a task.

    Raises:
        ConfigError: another signal than a mark, or a scale, patience or text that is none.
    """
    for name in people_of(program):
        verify, where = program.verify[name], f"{at}.verify.{name}"
        if list(verify.signals) != [SIGNAL] or verify.signals[SIGNAL].kind != Kind("float", 0.0, 1.0):
            got = ", ".join(f"{signal} {spec.kind}" for signal, spec in verify.signals.items())
            raise ConfigError(
                f"a verifier of the tier human must have the one signal `{SIGNAL}` float[0, 1]", got=got, at=where
            )
        arguments = bind(verify.use, program.params, dict.fromkeys(program.fields, _UNKNOWN))
        known = {key: value for key, value in arguments.items() if value is not _UNKNOWN or key == "question"}
        try:
            read_question(known)
        except ValueError as error:
            raise ConfigError("a question must be one that can be asked", got=str(error), at=where) from None
