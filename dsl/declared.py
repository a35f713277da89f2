"""A domain as declared: well formed and well typed, with the place of everything that may still get a finding."""

import msgspec

from assay.core.kind import Kind
from assay.dsl.expr.node import Expr
from assay.dsl.expr.scope import Scope
from assay.dsl.leaf import Bound
from assay.dsl.program import Allowance, BoxSpec, Calibration, Control, EpisodeSpec, Example, GroupSpec, Rows, Use
from assay.dsl.source.mark import Mapping, Scalar, Span


class Formula(msgspec.Struct):
    """One expression of the declaration.

    Attributes:
        scalar: Where it is written.
        at: Its path, such as `reward.process.invalid`.
        node: Parsed and well typed; None where it has a finding or uses something faulty.
    """

    scalar: Scalar
    at: str
    node: Expr | None = None


class GateDeclaration(msgspec.Struct):
    """One gate as written."""

    name: str
    index: int
    condition: Formula
    otherwise: Formula


class Declared(msgspec.Struct):
    """One domain as declared.

    Attributes:
        is_whole: Nothing is missing or faulty in shape; only then is silence proof of disuse.
        is_reward_whole: The same of the reward alone; only then do its sections mean something.
        verify: Bound calls by name; a faulty one is absent.
        verify_scalars: Where each is written, faulty or not.
        sections: `outcome`, `process`, `efficiency`, each with its formulas by term.
        used: Names that something uses: fields, params, verifiers.
    """

    id: str
    version: int
    summary: str
    scope: Scope
    is_whole: bool
    is_reward_whole: bool
    tree: Mapping
    fields: dict[str, Kind]
    params: dict[str, float]
    data: dict[str, Use | Rows]
    system: str | None
    prompt: str
    answer: Bound | None
    episode: EpisodeSpec
    sandbox: BoxSpec | None
    verify: dict[str, Bound]
    verify_scalars: dict[str, Scalar]
    success: Formula | None
    gates: list[GateDeclaration]
    sections: dict[str, dict[str, Formula]]
    when: Formula | None
    group: GroupSpec
    allow: list[tuple[Allowance, Span]]
    examples: list[Example]
    controls: list[Control]
    calibration: dict[str, Calibration]
    used: set[str]

    def formulas(self) -> list[Formula]:
        """Return every formula of the reward, payments apart."""
        found = [gate.condition for gate in self.gates]
        found += [formula for terms in self.sections.values() for formula in terms.values()]
        return found + [formula for formula in (self.success, self.when) if formula is not None]
