"""Reduce: from stored signals to the reward, one episode at a time or column by column.

Both back ends are made of one program and give the same numbers. The order of the sum is that of the terms: outcome,
process, efficiency, from left to right; with a closed gate it is the gate's payment alone.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.core.error import VerifierFault
from assay.core.kind import Kind
from assay.core.leaf import Function
from assay.core.signal import SignalValue
from assay.core.verdict import Payout
from assay.dsl.expr.emit import Emitter
from assay.dsl.expr.function import BUILTIN, Entry, plugin_entry
from assay.dsl.expr.node import Expr, Ref, Signal, walk
from assay.dsl.expr.scalar import execute, loads, scalar_function
from assay.dsl.expr.scope import TRACE, Scope
from assay.dsl.program import Program, Reward

# Rows of one pass over columns: what fits the second-level cache with all temporaries.
CHUNK = 16_384

Signals = Mapping[str, Mapping[str, SignalValue]]


def functions_of(plugins: Sequence[Function] = ()) -> dict[str, Entry]:
    """Return all functions by name: those of the language and those of plugins."""
    return BUILTIN | {function.name: plugin_entry(function) for function in plugins}


def scope_of(program: Program) -> Scope:
    """Return what names in the program's reward stand for."""
    signals = {name: verify.signals for name, verify in program.verify.items()}
    return Scope(program.fields, program.params, {**signals, "trace": TRACE}, {}, program.reward.success)


class Grader:
    """The reward of one program as functions.

    Attributes:
        program: Whose.
        reward: `(signals, fields) -> float`; signals of every open gate and term must be there. The fast path.
        term_names: `section.name` in the order of the sum.
    """

    def __init__(self, program: Program, functions: Mapping[str, Entry] = BUILTIN) -> None:
        self.program = program
        self.functions = functions
        self.scope = scope_of(program)
        self.term_names = tuple(
            f"{section}.{term.name}" for section, terms in program.reward.sections() for term in terms
        )
        self.reward: Callable[[Signals, Mapping[str, Any]], float] = self._compile("reward")
        self._payout: Callable[[Signals, Mapping[str, Any]], tuple[Any, ...]] = self._compile("payout")
        self._gate_owners = [verifiers_of(gate.condition, self.scope) for gate in program.reward.gates]
        self._gates = [scalar_function(gate.condition, self.scope, functions) for gate in program.reward.gates]
        self._term_owners = reward_verifiers(program.reward, self.scope)

    def needs(self, signals: Signals, fields: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the verifications still needed, those of the next gate first; empty once `payout` can be called.

        Lazy and in order: what only lies below a closed gate is never asked for.
        """
        for owners, is_open in zip(self._gate_owners, self._gates, strict=True):
            if missing := tuple(name for name in owners if name not in signals):
                return missing
            if not is_open(signals, fields):
                return ()
        return tuple(name for name in self._term_owners if name not in signals)

    def payout(self, signals: Signals, fields: Mapping[str, Any]) -> Payout:
        """Return reward, success, closed gate and every term.

        Raises:
            VerifierFault: a value is not finite, or a mean has nothing to take.
        """
        try:
            gate, values, success = self._payout(signals, fields)
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            raise VerifierFault("signals must lead to a finite reward", got=error, at=self.program.identity) from None
        reward = math.nan
        if gate is not None:
            (reward,), values = values, (0.0,) * len(self.term_names)
        else:
            reward = values[0]
            for value in values[1:]:
                reward += value
        if not math.isfinite(reward):
            raise VerifierFault("signals must lead to a finite reward", got=reward, at=self.program.identity)
        terms = {name: float(value) for name, value in zip(self.term_names, values, strict=True)}
        return Payout(float(reward) + 0.0, bool(success), gate, terms)

    def columns(self, columns: Mapping[str, Any], size: int) -> Any:
        """Return the rewards of `size` episodes.

        Args:
            columns: By `verifier.signal` or field: numpy arrays of shape (size,); bool, or float64, or objects for
                texts and lists. Behind a closed gate any value may stand.
            size: Number of episodes.

        Returns:
            float64, shape (size,); NaN where a reward would not be finite.
        """
        import numpy

        emitter = Emitter(self.scope, self.functions, "column")
        source = _column_source(self.program.reward, emitter)
        run = execute(source, "columns", emitter)
        names = list(emitter.names)
        arrays = [_column(columns[name], self._kind(name)) for name in names]
        result = numpy.empty(size, dtype=numpy.float64)
        with numpy.errstate(all="ignore"):
            for start in range(0, size, CHUNK):
                stop = min(start + CHUNK, size)
                result[start:stop] = run(*(array[start:stop] for array in arrays))
        result[~numpy.isfinite(result)] = numpy.nan
        return result

    def column_names(self) -> tuple[str, ...]:
        """Return the columns that `columns` reads."""
        emitter = Emitter(self.scope, self.functions, "column")
        _column_source(self.program.reward, emitter)
        return tuple(emitter.names)

    def _kind(self, name: str) -> Kind | None:
        owner, _, signal = name.partition(".")
        return self.scope.kind(Signal(owner=owner, name=signal) if signal else Ref(name=owner))

    def _compile(self, what: str) -> Callable[..., Any]:
        emitter = Emitter(self.scope, self.functions, "scalar")
        writer = _reward_source if what == "reward" else _payout_source
        return execute(writer(self.program.reward, emitter), what, emitter)


def _reward_source(reward: Reward, emitter: Emitter) -> str:
    lines = ["def reward(s, f):"]
    lines += _gate_lines(reward, emitter, "return {0}")
    loaded = len(emitter.names)
    total = " + ".join(emitter.number(term.value) for term in (*reward.outcome, *reward.process))
    guarded = [emitter.number(term.value) for term in reward.efficiency]
    when = emitter.emit(reward.when) if reward.when is not None else "True"
    lines += loads(emitter, loaded)
    if guarded:
        lines += [
            f"    r = {total}",
            f"    if {when}:",
            *(f"        r += {value}" for value in guarded),
            "    return r",
        ]
    else:
        lines.append(f"    return {total}")
    return "\n".join(lines)


def _payout_source(reward: Reward, emitter: Emitter) -> str:
    lines = ["def payout(s, f):"]
    lines += _gate_lines(reward, emitter, "return {1}, ({0},), False")
    loaded = len(emitter.names)
    plain = [emitter.number(term.value) for term in (*reward.outcome, *reward.process)]
    when = emitter.emit(reward.when) if reward.when is not None else "True"
    guarded = [f"({emitter.number(term.value)} if w else 0.0)" for term in reward.efficiency]
    success = emitter.emit(reward.success)
    lines += loads(emitter, loaded)
    if guarded:
        lines.append(f"    w = {when}")
    lines.append(f"    return None, ({', '.join([*plain, *guarded])},), {success}")
    return "\n".join(lines)


def _gate_lines(reward: Reward, emitter: Emitter, leave: str) -> list[str]:
    lines: list[str] = []
    for index, gate in enumerate(reward.gates):
        loaded = len(emitter.names)
        condition, otherwise = emitter.emit(gate.condition), emitter.number(gate.otherwise)
        lines += loads(emitter, loaded)
        lines += [f"    if not {condition}:", f"        {leave.format(otherwise, index)}"]
    return lines


def _column_source(reward: Reward, emitter: Emitter) -> str:
    values = [emitter.number(term.value) for term in (*reward.outcome, *reward.process)]
    lines = [f"    r = {' + '.join(values)}"]
    if reward.efficiency:
        when = emitter.emit(reward.when) if reward.when is not None else "True"
        added = "r"
        for term in reward.efficiency:
            added = f"({added} + {emitter.number(term.value)})"
        lines.append(f"    r = where({when}, {added}, r)")
    for gate in reversed(reward.gates):
        lines.append(f"    r = where({emitter.emit(gate.condition)}, r, {emitter.number(gate.otherwise)})")
    arguments = ", ".join(emitter.names.values())
    return "\n".join([f"def columns({arguments}):", *lines, "    return r"])


def verifiers_of(node: Expr, scope: Scope) -> tuple[str, ...]:
    """Return the names under `verify:` that an expression reads, those of `success` included."""
    owners: dict[str, None] = {}
    for part in walk(node):
        if isinstance(part, Signal) and part.owner != "trace":
            owners[part.owner] = None
        elif isinstance(part, Ref) and part.name == "success" and scope.success is not None:
            owners |= dict.fromkeys(verifiers_of(scope.success, scope))
    return tuple(owners)


def reward_verifiers(reward: Reward, scope: Scope) -> tuple[str, ...]:
    """Return the names under `verify:` that are read once all gates are open."""
    nodes = [term.value for _, terms in reward.sections() for term in terms]
    nodes += [reward.success] if reward.when is None else [reward.when, reward.success]
    return tuple(dict.fromkeys(owner for node in nodes for owner in verifiers_of(node, scope)))


def _column(values: Any, kind: Kind | None) -> Any:
    import numpy

    if kind is not None and kind.name == "bool":
        return numpy.asarray(values, dtype=numpy.bool_)
    if kind is not None and kind.is_number:
        return numpy.asarray(values, dtype=numpy.float64)
    return numpy.asarray(values, dtype=object)
