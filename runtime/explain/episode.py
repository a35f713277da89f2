"""One episode explained: what was measured, which gate closed, what each term paid, how its siblings fared."""

from collections.abc import Mapping

import msgspec

from assay.core.error import ConfigError
from assay.core.signal import SignalValue
from assay.core.trajectory import WeightVersion
from assay.core.verdict import Scored, Unscored, Verdict
from assay.dsl.change import fields_read
from assay.dsl.expr.function import BUILTIN, Entry
from assay.dsl.expr.show import show
from assay.dsl.program import Program
from assay.dsl.reduce import Grader
from assay.runtime.explain.counterfactual import Counterfactual, counterfactuals
from assay.runtime.explain.stop import Stop, stops
from assay.runtime.regrade.stored import Row, StoredRun


class GateStep(msgspec.Struct, frozen=True):
    """One gate; `state` is open, closed or not reached."""

    name: str
    condition: str
    state: str
    pays: float | None = None


class TermStep(msgspec.Struct, frozen=True):
    """One term; `total` is the sum so far."""

    name: str
    formula: str
    value: float
    total: float


class Standing(msgspec.Struct, frozen=True):
    """A sibling; `advantage` is None where it was not trained."""

    episode: int
    reward: float | None
    success: bool | None
    advantage: float | None
    cause: str = ""


class Asked(msgspec.Struct, frozen=True):
    """What one verification took of a judge; `cached` replies of its calls cost nothing."""

    verify: str
    calls: int
    cached: int
    cost_usd: float
    queue_s: float


class Explanation(msgspec.Struct, frozen=True):
    """Everything known of one episode.

    Attributes:
        episode: Number in the ledger.
        domain: Full identity.
        entry: Of the mix.
        task: `split[index]`.
        state: Of its life.
        version: Weights that sampled its first token.
        reward: None where it has none.
        success: None where it has no reward.
        cause: Why it is unscored, with the verifier; empty where it is scored.
        signals: As measured, by name under `verify:`; the trace among them.
        judges: What verifications took of judges; where one failed, what it was charged even so.
        gates: In order.
        terms: The waterfall; empty behind a closed gate.
        siblings: Of its group, itself among them.
        counterfactuals: The largest gain first.
    """

    episode: int
    domain: str
    entry: str
    task: str
    state: str
    version: str
    reward: float | None
    success: bool | None
    cause: str
    signals: dict[str, dict[str, SignalValue]]
    judges: tuple[Asked, ...]
    gates: tuple[GateStep, ...]
    terms: tuple[TermStep, ...]
    siblings: tuple[Standing, ...]
    counterfactuals: tuple[Counterfactual, ...]


def explain_episode(run: StoredRun, episode: int, functions: Mapping[str, Entry] = BUILTIN) -> Explanation:
    """Explain one episode of a run.

    Raises:
        ConfigError: the run never planned it.
    """
    row = run.find(episode)
    if row is None:
        raise ConfigError("an episode must be one of the run's", got=episode, at=run.folder.path)
    program = run.plan.entry(row.entry).program
    group = run.group(row.grp)
    verdict = None if row.verdict_text is None else row.verdict
    signals = {} if verdict is None else _signals(row, verdict)
    gates: tuple[GateStep, ...] = ()
    terms: tuple[TermStep, ...] = ()
    moves: tuple[Counterfactual, ...] = ()
    if isinstance(verdict, Scored):
        fields = run.fields(row) if fields_read(program) else {}
        grader = Grader(program, functions)
        gates, terms = _gates(program, verdict), _waterfall(program, verdict)
        others = [_signals(one, one.verdict) for one in group if one.verdict_text and one.episode != episode]
        moves = tuple(counterfactuals(grader, signals, fields, others, _stops(run, row)))
    return Explanation(
        episode=episode,
        domain=program.identity,
        entry=row.entry,
        task=f"{row.split}[{row.index}]",
        state=row.state,
        version="" if row.version is None else str(WeightVersion.unpack(row.version)),
        reward=row.reward,
        success=verdict.payout.success if isinstance(verdict, Scored) else None,
        cause=_cause(verdict) if isinstance(verdict, Unscored) else "" if verdict else "no verdict yet",
        signals=signals,
        judges=() if verdict is None else _judges(verdict),
        gates=gates,
        terms=terms,
        siblings=_siblings(run, group),
        counterfactuals=moves,
    )


def _stops(run: StoredRun, row: Row) -> list[Stop]:
    """Return the earlier ends of an episode of several turns, whose trajectory is read for that."""
    if row.trace["turns"] == 1 or row.trajectory is None:
        return []
    return stops(run.played(row))


def _signals(row: Row, verdict: Verdict) -> dict[str, dict[str, SignalValue]]:
    return {"trace": row.trace, **{name: item.signals for name, item in verdict.measurements.items()}}


def _judges(verdict: Verdict) -> tuple[Asked, ...]:
    asked = [
        Asked(name, one.num_calls, one.num_cached, one.cost_usd, one.queue_s)
        for name, one in verdict.measurements.items()
        if one.num_calls
    ]
    if isinstance(verdict, Unscored) and verdict.cost_usd:
        asked.append(Asked(verdict.verifier, 0, 0, verdict.cost_usd, verdict.queue_s))
    return tuple(asked)


def _gates(program: Program, verdict: Scored) -> tuple[GateStep, ...]:
    closed = verdict.payout.gate
    steps = []
    for index, gate in enumerate(program.reward.gates):
        reached = closed is None or index <= closed
        state = "not reached" if not reached else "closed" if index == closed else "open"
        pays = verdict.payout.reward if index == closed else None
        steps.append(GateStep(gate.name, show(gate.condition), state, pays))
    return tuple(steps)


def _waterfall(program: Program, verdict: Scored) -> tuple[TermStep, ...]:
    if verdict.payout.gate is not None:
        return ()
    steps, total = [], 0.0
    for section, terms in program.reward.sections():
        for term in terms:
            value = verdict.payout.terms[f"{section}.{term.name}"]
            total += value
            steps.append(TermStep(f"{section}.{term.name}", show(term.value), value, total))
    return tuple(steps)


def _siblings(run: StoredRun, group: list[Row]) -> tuple[Standing, ...]:
    advantages = run.advantages([row.episode for row in group])
    found = []
    for row in group:
        verdict = None if row.verdict_text is None else row.verdict
        success = verdict.payout.success if isinstance(verdict, Scored) else None
        cause = verdict.cause if isinstance(verdict, Unscored) else "" if verdict else row.state
        found.append(Standing(row.episode, row.reward, success, advantages.get(row.episode), cause))
    return tuple(found)


def _cause(verdict: Unscored) -> str:
    where = f" in `{verdict.verifier}`" if verdict.verifier else ""
    return f"{verdict.cause}{where}: {verdict.detail}"
