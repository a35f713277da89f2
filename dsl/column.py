"""Columns of stored signals: what is enough for a reward, and what the reward then is, many episodes at a time.

The scalar rule, that an episode is followed gate by gate until one is closed, is kept by masks: what a row has not
measured is never looked at once a gate of that row is closed, and makes the row insufficient before.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from assay.dsl.expr.emit import Emitter
from assay.dsl.expr.function import BUILTIN, Entry
from assay.dsl.expr.node import Expr
from assay.dsl.expr.scalar import execute
from assay.dsl.program import Program
from assay.dsl.reduce import Grader, reward_verifiers, verifiers_of

OPEN = -1


class Payouts(msgspec.Struct, frozen=True):
    """What rewards made of columns; every array has shape (size,).

    Attributes:
        reward: float64; NaN where it would not be finite, which is a fault of a verifier.
        success: bool.
        gate: int16; index of the closed gate, `OPEN` where all were open.
        terms: float64 by `section.name`; 0 behind a closed gate.
    """

    reward: Any
    success: Any
    gate: Any
    terms: dict[str, Any]


class ColumnGrader:
    """The reward of one program over columns.

    Args:
        program: Whose.
        functions: Functions its expressions may call.

    Attributes:
        names: Columns that are read, `verifier.signal` or field.
    """

    def __init__(self, program: Program, functions: Mapping[str, Entry] = BUILTIN) -> None:
        self.grader = Grader(program, functions)
        scope, reward = self.grader.scope, program.reward
        self._gates = [
            (verifiers_of(gate.condition, scope), _Column(gate.condition, self.grader)) for gate in reward.gates
        ]
        self._wanted = reward_verifiers(reward, scope)
        self._terms = {
            f"{section}.{term.name}": (section == "efficiency", _Column(term.value, self.grader))
            for section, terms in reward.sections()
            for term in terms
        }
        self._success = _Column(reward.success, self.grader)
        self._when = None if reward.when is None else _Column(reward.when, self.grader)
        columns = [*(column for _, column in self._gates), *(column for _, column in self._terms.values())]
        columns += [column for column in (self._success, self._when) if column is not None]
        read = dict.fromkeys(name for column in columns for name in column.names)
        self.names = tuple(read | dict.fromkeys(self.grader.column_names()))

    def sufficient(self, columns: Mapping[str, Any], has: Mapping[str, Any], size: int) -> Any:
        """Return whether each row has all that its reward asks for.

        Args:
            columns: By name; where a verification is missing any value may stand.
            has: By name under `verify:`: bool, shape (size,); a verification that is absent is missing everywhere.
            size: Number of rows.

        Returns:
            bool, shape (size,).
        """
        import numpy

        missing = numpy.zeros(size, dtype=numpy.bool_)
        enough, is_open = ~missing, ~missing
        for owners, condition in self._gates:
            there = numpy.logical_and.reduce([~missing, *(has.get(owner, missing) for owner in owners)])
            enough &= ~is_open | there
            is_open &= there & condition(columns, size)
        there = numpy.logical_and.reduce([~missing, *(has.get(owner, missing) for owner in self._wanted)])
        return enough & (~is_open | there)

    def payouts(self, columns: Mapping[str, Any], size: int) -> Payouts:
        """Return what each row is paid; rows must be sufficient."""
        import numpy

        gate = numpy.full(size, OPEN, dtype=numpy.int16)
        for index, (_, condition) in enumerate(self._gates):
            gate[(gate == OPEN) & ~condition(columns, size)] = index
        is_open = gate == OPEN
        when = is_open if self._when is None else is_open & self._when(columns, size)
        terms = {
            name: numpy.where(when if is_guarded else is_open, term(columns, size), 0.0)
            for name, (is_guarded, term) in self._terms.items()
        }
        # -0.0 is written as 0.0, as the scalar payout does.
        reward = self.grader.columns(columns, size) + 0.0
        return Payouts(reward, is_open & self._success(columns, size), gate, terms)


class _Column:
    """One expression over columns."""

    def __init__(self, node: Expr, grader: Grader) -> None:
        emitter = Emitter(grader.scope, grader.functions, "column")
        self._is_bool = emitter.is_bool(node)
        value = emitter.emit(node)
        self.names = tuple(emitter.names)
        source = f"def one({', '.join(emitter.names.values())}):\n    return {value}"
        self._run: Callable[..., Any] = execute(source, "one", emitter)

    def __call__(self, columns: Mapping[str, Any], size: int) -> Any:
        import numpy

        with numpy.errstate(all="ignore"):
            value = self._run(*(columns[name] for name in self.names))
        return numpy.broadcast_to(numpy.asarray(value, numpy.bool_ if self._is_bool else numpy.float64), (size,))
