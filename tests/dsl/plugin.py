"""Signals of every kind, with every direction and unit, for tests of the language."""

import math
from typing import Annotated, Any

import assay
from assay.core.error import ConfigError
from assay.core.leaf import Factory
from assay.core.stage_rule import Mean, StageView


class Measured(assay.Signals, frozen=True):
    good: Annotated[bool, assay.signal(better="up")]
    bad: Annotated[bool, assay.signal(better="down")]
    rate: Annotated[float, assay.signal(ge=0, le=1, better="up")]
    loss: Annotated[float, assay.signal(ge=0, better="down")]
    delta: Annotated[float, assay.signal(ge=-2, le=3)]
    failed: Annotated[int, assay.signal(ge=0, le=50, unit="tests", better="down")]
    passed: Annotated[int, assay.signal(ge=0, unit="tests", better="up")]
    seconds: Annotated[float, assay.signal(ge=0, le=600, unit="s", better="down")]
    offset: Annotated[int, assay.signal(ge=-5, le=5)]
    mode: str
    flags: list[bool]
    scores: Annotated[list[float], assay.signal(ge=0, le=1)]


@assay.verifier("test.measure", version=1, cost="2ms")
def measure(answer: str) -> Measured:
    """Measure nothing; only its declaration matters."""
    raise AssertionError(answer)


class Judged(assay.Signals, frozen=True):
    score: Annotated[float, assay.signal(ge=0, le=1, better="up")]


@assay.verifier("test.judge", version=1, tier="judge", cost="2s", deterministic=False, price="0.01 USD")
def judge(answer: str, model: str) -> Judged:
    """Stand for a judge."""
    raise AssertionError(answer, model)


@assay.verifier("test.boxed", version=1, cost="5s", needs=assay.Needs(sandbox=True))
async def boxed(answer: str, box: assay.Sandbox, names: list[str], strict: bool = False) -> Judged:
    """Need a fresh box."""
    raise AssertionError(answer, box, names, strict)


@assay.verifier("test.shared", version=1, needs=assay.Needs(sandbox=True), isolation="shared")
async def shared(answer: str, box: assay.Sandbox) -> Judged:
    """Grade where the policy worked."""
    raise AssertionError(answer, box)


@assay.verifier("test.lenient", version=1)
def lenient(answer: str | None, limit: int = 3) -> Judged:
    """Take an answer that the parser refused."""
    raise AssertionError(answer, limit)


@assay.parser("test.boxed_answer", version=1)
def boxed_answer(text: str, mark: str = "$") -> str | None:
    """Read what stands between two marks."""
    parts = text.split(mark)
    return parts[1] if len(parts) == 3 else None


@assay.function("halve", version=1, direction=["up"])
def halve(x: float) -> float:
    """Halve."""
    return x / 2


@assay.function("wave", version=1, direction=["neither"], range=lambda x: (-1.0, 1.0))
def wave(x: float) -> float:
    """Go up and down."""
    return (x % 2) - 1 if x == x else 0.0


_TABLE = [0.0, 0.5]


@assay.function("look", version=1, direction=["up"])
def look(x: float) -> float:
    """Look a value up; there is none for most."""
    return _TABLE[min(int(x), 10**6)]


@assay.function("lost", version=1, direction=["neither"], range=lambda x: (math.nan, 1.0))
def lost(x: float) -> float:
    """Declare a range that is none."""
    return x


class Still:
    """A stage rule."""

    def __init__(self, signal: Mean, *others: Mean, patience: int = 3) -> None:
        if patience < 1:
            raise ConfigError("test.still must have a patience of at least 1", got=patience)

    def look(self, view: StageView, memory: Any) -> tuple[bool, Any]:
        """See `assay.core.stage_rule.StageRule`."""
        return False, memory


class Picky:
    """A sampler whose constructor raises what no error tree knows."""

    def __init__(self, low: float = 0.0) -> None:
        if low > 1:
            raise ValueError("low is too high")


@assay.hookimpl
def assay_stage_rules() -> list[object]:
    return [Factory("still", Still, "Stand still."), Factory("far.rule", "nowhere:Rule", "Heavy to import.")]


@assay.hookimpl
def assay_samplers() -> list[object]:
    return [Factory("picky", Picky, "Refuse.")]


@assay.hookimpl
def assay_verifiers() -> list[object]:
    return [measure, judge, boxed, shared, lenient]


@assay.hookimpl
def assay_parsers() -> list[object]:
    return [boxed_answer]


@assay.hookimpl
def assay_functions() -> list[object]:
    return [halve, wave, look, lost]
