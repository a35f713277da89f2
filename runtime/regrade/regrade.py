"""Regrading: a run's stored episodes under an edited domain, without a rollout.

What only needs arithmetic is reduced over columns of stored signals; what needs a verifier goes through the verify
machinery, which is told what is measured already. Episodes that would have to be played again keep their verdicts and
are left out of every comparison, and so are canaries.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from assay.core.error import StoreError, VerifierFault
from assay.core.registry import Registry
from assay.core.verdict import Payout, Scored, Unscored, Verdict
from assay.dsl.change import Change, Effect
from assay.dsl.column import OPEN, ColumnGrader
from assay.dsl.expr.function import BUILTIN, Entry
from assay.dsl.program import Program
from assay.dsl.recall import Recall
from assay.runtime.judge.open import NOBODY, choose_judge, is_same_judge
from assay.runtime.regrade.archive import Archive
from assay.runtime.regrade.shift import Paid, Shift, shift
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.regrade.table import Table, tables
from assay.runtime.review.desk import PeopleDesk
from assay.runtime.review.override import Overrides
from assay.runtime.review.store import Mark
from assay.runtime.sandbox.host import BoxHost
from assay.runtime.sandbox.open import NONE, backend_ref, needs_of, open_host
from assay.runtime.stage.verify import to_episode
from assay.runtime.verify.grade import GradeDesk, Rubric, mode_of
from assay.runtime.verify.host import VerifierHost

# Episodes given to verifiers at a time: enough that no process waits.
_AHEAD = 64


class Priced(msgspec.Struct, frozen=True):
    """What an edit asks of the stored episodes of one entry.

    Attributes:
        entry: Of the mix.
        change: Of its domain.
        episodes: How many, by effect.
        waiting: Episodes without a verdict, which the edit cannot touch.
    """

    entry: str
    change: Change
    episodes: dict[Effect, int]
    waiting: int


class Regraded(msgspec.Struct, frozen=True):
    """One entry regraded.

    Attributes:
        priced: What was asked.
        shift: What it changed.
        reduce_s: Seconds of reading and reducing.
        regrade_s: Seconds of verifying.
        overridden: Episodes whose verdict people have changed.
    """

    priced: Priced
    shift: Shift
    reduce_s: float
    regrade_s: float
    overridden: int = 0


def price(run: StoredRun, entry: str, after: Program, functions: Mapping[str, Entry] = BUILTIN) -> Priced:
    """Count what an edit asks of the stored episodes of one entry; nothing is changed."""
    recall = Recall(run.plan.entry(entry).program, after, functions)
    counts: Counter[Effect] = Counter()
    for table in tables(run, entry, recall, ColumnGrader(after, functions)):
        counts.update(table.effects)
    return Priced(entry, recall.change, dict(counts), run.num_waiting(entry))


class Regrader:
    """Regrades entries of one run into one archive.

    Args:
        run: Opened for reading.
        archive: Where new verdicts go.
        registry: What is installed.
        functions: Functions that expressions may call.
        num_processes: Most verifier processes per distribution.
        paths: Further folders that verifiers are imported from.
        sandbox: Backend of boxes; None for the run's own.
        judge: Settings of the group `judge`; None for the run's own. Replies that the run has paid for are kept; what
            another judge measured is measured anew.
        people: Where people are asked; None: what they would have to answer is unscored.
        marks: What people said, to be put in place of what was measured; None leaves that alone.
        should_retry: Verify again what could not be measured, also where nothing changed.

    Raises:
        PluginError: nobody offers the sandbox.
    """

    def __init__(
        self,
        run: StoredRun,
        archive: Archive,
        registry: Registry,
        functions: Mapping[str, Entry] = BUILTIN,
        *,
        num_processes: int = 1,
        paths: Sequence[str] = (),
        sandbox: str | None = None,
        judge: Mapping[str, Any] | None = None,
        people: PeopleDesk | None = None,
        marks: Sequence[Mark] | None = None,
        should_retry: bool = False,
    ) -> None:
        self._should_retry = should_retry
        self._people = people
        self._marks = marks
        self._run = run
        self._archive = archive
        self._registry = registry
        self._functions = functions
        self._num_processes = num_processes
        self._paths = tuple(paths)
        self._judge = run.plan.settings.get("judge", NOBODY) if judge is None else judge
        if sandbox not in (None, NONE):
            registry.find("sandbox", sandbox)
        self._sandbox = run.plan.settings.get("sandbox", {"name": NONE}) if sandbox is None else {"name": sandbox}

    def regrade(self, entry: str, after: Program) -> Regraded:
        """Regrade one entry.

        Raises:
            PluginError: a verifier cannot be found or does not load.
            ConfigError: a verifier wants a box, and there is no sandbox; or asks a judge, and none is chosen.
            VerifierFault: a verifier failed that declares its failure fatal.
            JudgeRefused: the judge takes no question any more.
        """
        before = self._run.plan.entry(entry).program
        recall = Recall(before, after, self._functions, self._renewed(after), should_retry=self._should_retry)
        columns = ColumnGrader(after, self._functions)
        self._archive.add_program(entry, before, after)
        counts: Counter[Effect] = Counter()
        paid: list[Paid] = []
        seconds = {"REDUCE": 0.0, "REGRADE": 0.0}
        desk: GradeDesk | None = None
        overrides = None if self._marks is None else Overrides(self._run, self._marks, after, self._functions)
        num_overridden = 0
        try:
            started = time.perf_counter()
            for table in tables(self._run, entry, recall, columns):
                counts.update(table.effects)
                fresh: dict[int, Verdict] = {}
                if reduced := table.of("REDUCE"):
                    fresh |= reduce(table, reduced, recall, columns)
                    self._archive.add("REDUCE", ((table.rows[place].episode, fresh[place]) for place in reduced))
                seconds["REDUCE"] += time.perf_counter() - started
                started = time.perf_counter()
                if verified := table.of("REGRADE"):
                    desk = desk or self._desk(entry, after)
                    found = dict(self._verify(desk, entry, table, verified))
                    self._archive.add("REGRADE", ((table.rows[place].episode, found[place]) for place in verified))
                    fresh |= found
                seconds["REGRADE"] += time.perf_counter() - started
                started = time.perf_counter()
                if overrides is not None:
                    overridden = self._override(table, fresh, overrides)
                    num_overridden += len(overridden)
                    fresh |= overridden
                paid += _paid(table, fresh)
        finally:
            if desk is not None:
                desk.close()
        priced = Priced(entry, recall.change, dict(counts), self._run.num_waiting(entry))
        moved = shift(paid, lambda rewards: self._run.to_advantages(entry, rewards))
        return Regraded(priced, moved, seconds["REDUCE"], seconds["REGRADE"], num_overridden)

    def _override(self, table: Table, fresh: Mapping[int, Verdict], overrides: Overrides) -> dict[int, Verdict]:
        """Put marks in place; returns the verdicts that this changed, by place."""
        found: dict[int, Verdict] = {}
        for place, (row, old) in enumerate(zip(table.rows, table.verdicts, strict=True)):
            if table.effects[place] != "RERUN":
                verdict, reasons = overrides.apply(row, fresh.get(place, old))
                if reasons:
                    found[place] = verdict
                    self._archive.override(verdict, reasons)
        return found

    def _renewed(self, program: Program) -> frozenset[str]:
        """Return the verifiers that another judge than the run's would answer for."""
        leaves = {verify.use.leaf for verify in program.verify.values() if verify.tier == "judge"}
        judged = frozenset(leaf for leaf in leaves if self._registry.find("verifier", leaf).value.asks_judge)
        own = self._run.plan.settings.get("judge", NOBODY)
        return frozenset() if not judged or is_same_judge(own, self._judge, self._registry) else judged

    def _desk(self, entry: str, program: Program) -> GradeDesk:
        leaves, modes, verifiers = {}, {}, []
        for verify in program.verify.values():
            offer = self._registry.find("verifier", verify.use.leaf)
            verifiers.append(offer.value)
            leaves[verify.use.leaf], modes[verify.use.leaf] = offer.ref, mode_of(offer.value)
        if program.answer is not None:
            leaves[program.answer.leaf] = self._registry.find("parser", program.answer.leaf).ref
        boxes: BoxHost | None = None
        if needs := needs_of(program, verifiers):
            ref = backend_ref(self._sandbox["name"], needs, program, entry, self._registry, option="--sandbox ")
            boxes = open_host(ref, self._sandbox)
        judged = [verifier.name for verifier in verifiers if verifier.asks_judge]
        judges = choose_judge(judged, self._judge, self._registry, self._run.folder.judge)
        host = VerifierHost(num_processes=self._num_processes, boxes=boxes, judges=judges, paths=self._paths)
        return GradeDesk(host, {entry: Rubric(program, leaves, modes, self._functions)}, self._people)

    def _verify(
        self, desk: GradeDesk, entry: str, table: Table, places: Sequence[int]
    ) -> Iterator[tuple[int, Verdict]]:
        waiting = list(reversed(places))
        while waiting or desk.num_open:
            while waiting and desk.num_open < _AHEAD:
                place = waiting.pop()
                row = table.rows[place]
                try:
                    episode = to_episode(row.episode, self._run.task(row), self._run.played(row))
                except (StoreError, msgspec.MsgspecError) as error:
                    yield place, Unscored("infra", str(error))
                    continue
                desk.submit(place, entry, episode, table.measured[place])
            if desk.num_open:
                yield from desk.poll(1.0)


def reduce(table: Table, places: Sequence[int], recall: Recall, columns: ColumnGrader) -> dict[int, Verdict]:
    """Return new verdicts of rows whose stored signals suffice, by place."""
    size = len(table.rows)
    payouts = columns.payouts(table.columns, size)
    rewards, gates = payouts.reward.tolist(), payouts.gate.tolist()
    successes = payouts.success.tolist()
    names = tuple(payouts.terms)
    terms = list(zip(*(values.tolist() for values in payouts.terms.values()), strict=True))
    digests = recall.after.digest, recall.after.digests["reward"]
    found: dict[int, Verdict] = {}
    for place in places:
        reward, gate, measured = rewards[place], gates[place], table.measured[place]
        if reward != reward:
            found[place] = _fault(table, place, recall)
            continue
        closed = None if gate == OPEN else gate
        payout = Payout(reward, successes[place], closed, dict(zip(names, terms[place], strict=True)))
        found[place] = Scored(measured, payout, *digests)
    return found


def _fault(table: Table, place: int, recall: Recall) -> Verdict:
    """Return the verdict of a row whose reward is not finite, in the words of the scalar back end."""
    measured = table.measured[place]
    signals = {"trace": table.rows[place].trace, **{name: item.signals for name, item in measured.items()}}
    fields = {name: values[place] for name, values in table.columns.items() if "." not in name}
    try:
        recall.grader.payout(signals, fields)
    except VerifierFault as error:
        return Unscored("verifier_fault", str(error), measurements=measured)
    raise AssertionError(f"both back ends must agree on episode {table.rows[place].episode}")


def _paid(table: Table, fresh: Mapping[int, Verdict]) -> Iterator[Paid]:
    """Yield what is compared: neither what would have to be played again, nor canaries, which nobody should solve."""
    for place, (row, old) in enumerate(zip(table.rows, table.verdicts, strict=True)):
        if table.effects[place] == "RERUN" or row.split == "canary":
            continue
        new = fresh.get(place, old)
        before, after = (one.payout if isinstance(one, Scored) else None for one in (old, new))
        yield Paid(
            row.episode,
            row.grp,
            None if before is None else before.reward,
            None if after is None else after.reward,
            before is not None and before.success,
            after is not None and after.success,
        )
