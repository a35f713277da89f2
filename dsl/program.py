"""The program: one domain as the compiler leaves it.

Plain structs with canonical JSON and a content digest. What says nothing about training (summary, examples, controls,
calibration, canaries, allowed findings, places in files) is outside the digest. A program read back from its JSON has
the same one.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Literal

import msgspec

from assay.core.digest import canonical_json, digest
from assay.core.kind import Kind
from assay.core.signal import SignalSpec
from assay.dsl.expr.node import Expr, Ref, walk


class Term(msgspec.Struct, frozen=True):
    """One named term of a section."""

    name: str
    value: Expr


class Gate(msgspec.Struct, frozen=True):
    """A condition that must hold, and what is paid where it does not."""

    name: str
    condition: Expr
    otherwise: Expr


class Reward(msgspec.Struct, frozen=True):
    """The reward.

    Attributes:
        success: What pass rates count.
        is_default_success: Nothing was written: `success` is the outcome at its proved upper end.
        gates: In order.
        outcome: Terms in order.
        process: Terms in order.
        when: Guards `efficiency`; None: always.
        efficiency: Terms in order.
        functions: Versions of the plugin functions that the expressions call, by name.
    """

    success: Expr
    is_default_success: bool
    gates: tuple[Gate, ...]
    outcome: tuple[Term, ...]
    process: tuple[Term, ...] = ()
    when: Expr | None = None
    efficiency: tuple[Term, ...] = ()
    functions: dict[str, int] = {}

    def nodes(self) -> tuple[Expr, ...]:
        """Return every expression of the reward."""
        terms = (term.value for _, section in self.sections() for term in section)
        guards = (self.success,) if self.when is None else (self.success, self.when)
        gates = (node for gate in self.gates for node in (gate.condition, gate.otherwise))
        return (*gates, *terms, *guards)

    def sections(self) -> tuple[tuple[str, tuple[Term, ...]], ...]:
        """Return the sections by name, in the order in which they are summed."""
        return (("outcome", self.outcome), ("process", self.process), ("efficiency", self.efficiency))


class Argument(msgspec.Struct, frozen=True, array_like=True):
    """One bound argument of a leaf: a literal, a field or a param."""

    name: str
    value: Expr


class Use(msgspec.Struct, frozen=True, tag="use"):
    """A call of a registered leaf.

    Attributes:
        leaf: Registered name.
        version: The leaf's own version; a raise changes every digest that depends on it.
        arguments: By parameter, in the leaf's order.
    """

    leaf: str
    version: int
    arguments: tuple[Argument, ...] = ()


class Rows(msgspec.Struct, frozen=True, tag="rows"):
    """Rows written in the declaration."""

    rows: tuple[dict[str, Any], ...]


class Verify(msgspec.Struct, frozen=True):
    """One named verification: the call, and what its verifier declared."""

    use: Use
    signals: dict[str, SignalSpec]
    tier: Literal["auto", "judge", "human"]
    is_deterministic: bool


class EpisodeSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """How an episode runs; None where nothing was written."""

    tools: tuple[str, ...] = ()
    max_turns: int | None = None
    max_tokens: int | None = None


class BoxSpec(msgspec.Struct, frozen=True):
    """The sandbox as written, in bytes and seconds.

    Defaults are printed: msgspec tells them by identity, and two equal texts may be two objects.
    """

    image: str
    net: Literal["none", "full"] = "none"
    cpu: float | None = None
    memory_bytes: int | None = None
    time_s: float | None = None
    history: Literal["sever", "keep"] = "sever"


class GroupSpec(msgspec.Struct, frozen=True):
    """Siblings of one task."""

    size: int = 8
    min_scored: int = 4


class Example(msgspec.Struct, frozen=True):
    """Signals and the reward they must give; `bound` is `== 1.0` or a comparison."""

    name: str
    given: dict[str, Any]
    sign: str
    reward: float
    success: bool | None = None


class Control(msgspec.Struct, frozen=True):
    """An answer to grade end to end, and the reward it must give."""

    name: str
    answer: str
    sign: str
    reward: float


class Calibration(msgspec.Struct, frozen=True):
    """Marked answers that a verification must agree with.

    Attributes:
        data: Rows of task, answer and expected signals.
        sign: `>=` or `>`.
        agreement: Share of rows whose every expectation must hold.
    """

    data: Use | Rows
    sign: str
    agreement: float


class Allowance(msgspec.Struct, frozen=True):
    """A finding that is meant."""

    code: str
    at: str
    because: str


class Program(msgspec.Struct, frozen=True, dict=True):
    """One compiled domain; see the module."""

    edition: int
    dist: str
    id: str
    version: int
    fields: dict[str, Kind]
    data: dict[str, Use | Rows]
    system: str | None
    prompt: str
    params: dict[str, int | float]
    answer: Use | None
    episode: EpisodeSpec
    sandbox: BoxSpec | None
    verify: dict[str, Verify]
    reward: Reward
    group: GroupSpec
    summary: str = ""
    examples: tuple[Example, ...] = ()
    controls: tuple[Control, ...] = ()
    allow: tuple[Allowance, ...] = ()
    # Absent where nothing is calibrated, so that such programs have the bytes and digests they had before.
    calibration: dict[str, Calibration] | msgspec.UnsetType = msgspec.UNSET

    @property
    def identity(self) -> str:
        """`<distribution>/<id>@<version>`."""
        return f"{self.dist}/{self.id}@{self.version}"

    def params_of(self, use: Use) -> dict[str, int | float]:
        """Return the params that a call takes, with their values."""
        return self._params_in(argument.value for argument in use.arguments)

    def _params_in(self, nodes: Iterable[Expr]) -> dict[str, int | float]:
        names = {part.name for node in nodes for part in walk(node) if isinstance(part, Ref)}
        return {name: value for name, value in self.params.items() if name in names}

    @cached_property
    def digest(self) -> str:
        """Content digest of everything that matters to training."""
        data = self._data
        plain = msgspec.structs.replace(
            self, data=data, summary="", examples=(), controls=(), allow=(), calibration=msgspec.UNSET
        )
        return digest(plain)

    @property
    def _data(self) -> dict[str, Use | Rows]:
        """The rows that train and evaluate: canaries do neither."""
        return {split: data for split, data in self.data.items() if split != "canary"}

    @cached_property
    def digests(self) -> dict[str, str]:
        """Content digest per part: an edit changes those of the parts it touches.

        `reward` holds the expressions with the params they name; `verify` the calls with the verifiers' versions;
        `rollout` everything that decides what an episode is.
        """
        rollout = (self.fields, self._data, self.system, self.prompt, self.answer, self.episode, self.sandbox)
        calls = [*self._data.values(), *([] if self.answer is None else [self.answer])]
        taken = [self.params_of(call) for call in calls if isinstance(call, Use)]
        verify = {name: digest([item, self.params_of(item.use)]) for name, item in self.verify.items()}
        return {
            "reward": digest([self.reward, self._params_in(self.reward.nodes())]),
            "rollout": digest([*rollout, taken]),
            **{f"verify.{name}": value for name, value in verify.items()},
        }


def print_program(program: Program) -> bytes:
    """Return the canonical JSON of a program."""
    return canonical_json(program)


def parse_program(data: bytes) -> Program:
    """Read a program back.

    Raises:
        msgspec.ValidationError: the bytes are no program.
    """
    return msgspec.json.decode(data, type=Program)
