"""What an edit asks of one stored episode: whether the measurements it has are those that the new reward asks for.

Exact where `assay.dsl.change` says what may be needed: an episode whose gate closed before a changed verification does
not need it measured again. What is missing is never a value; an episode that misses something is not reduced.
"""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from assay.core.digest import digest
from assay.core.signal import SignalValue
from assay.core.verdict import Measurement, Unscored, Verdict
from assay.dsl.change import Change, Effect, Reason, classify, fields_read, signals_read
from assay.dsl.expr.function import BUILTIN, Entry
from assay.dsl.program import Program, Rows
from assay.dsl.reduce import Grader


class StoredEpisode(msgspec.Struct, frozen=True):
    """What a ledger holds of one episode with a verdict.

    Attributes:
        split: Of its task.
        fields: Of its task.
        trace: Signals `trace.*`.
        verdict: As it was graded.
    """

    split: str
    fields: Mapping[str, Any]
    trace: Mapping[str, SignalValue]
    verdict: Verdict


class Recall:
    """One edit, applied to stored episodes.

    Args:
        before: The program that graded them.
        after: The edited one.
        functions: Functions that its expressions may call.
        renewed: Names of verifiers that another judge answers for now; see `assay.dsl.change.classify`.
        should_retry: An episode that could not be measured is measured again, also where nothing changed.

    Attributes:
        change: Of the domain.
        grader: Of the edited program.
        needs_fields: Whether the fields of tasks decide anything.
    """

    def __init__(
        self,
        before: Program,
        after: Program,
        functions: Mapping[str, Entry] = BUILTIN,
        renewed: Collection[str] = (),
        *,
        should_retry: bool = False,
    ) -> None:
        self.before = before
        self.after = after
        self.change: Change = classify(before, after, renewed)
        self.grader = Grader(after, functions)
        self._should_retry = should_retry
        self._read = signals_read(after)
        self._reruns = [reason for reason in self.change.reasons if reason.effect == "RERUN"]
        self.needs_fields = bool(fields_read(after)) or any(reason.split is not None for reason in self._reruns)
        self._kept: dict[str, frozenset[str]] = {}

    @property
    def is_untouched(self) -> bool:
        """Whether no verdict of any episode can have changed."""
        return self.change.is_same_reward and all(self.change.sources.get(n) == n for n in self._read if n != "trace")

    def is_settled(self, verdict: Verdict) -> bool:
        """Whether a verdict stands: nothing it rests on changed, and it is not to be tried again."""
        return self.is_untouched and not (self._should_retry and isinstance(verdict, Unscored))

    def rerun(self, split: str, fields: Mapping[str, Any]) -> Reason | None:
        """Return why an episode would have to be played again; None where it need not be.

        A row that stands in both declarations is the same task, wherever it stands.
        """
        for reason in self._reruns:
            if reason.split is None or (reason.split == split and not self._has_row(split, fields)):
                return reason
        return None

    def measured(self, verdict: Verdict) -> dict[str, Measurement]:
        """Return the stored measurements that count, by their names in the edited program."""
        found = {}
        for name, source in self.change.sources.items():
            measurement = None if source is None else verdict.measurements.get(source)
            if measurement is None or measurement.version != self.after.verify[name].use.version:
                continue
            if all(signal in measurement.signals for signal in self._read.get(name, ())):
                found[name] = measurement
        return found

    def classify(self, episode: StoredEpisode) -> Reason:
        """Return what the edit asks of an episode, with the reason that decides."""
        if reason := self.rerun(episode.split, episode.fields):
            return reason
        if self.is_settled(episode.verdict):
            return self._because("REUSE")
        measured = self.measured(episode.verdict)
        signals = {"trace": episode.trace, **{name: item.signals for name, item in measured.items()}}
        try:
            missing = self.grader.needs(signals, episode.fields)
        except (ArithmeticError, ValueError):
            missing = ()  # the reward of such signals is a fault, which reducing finds
        if missing:
            return self._because("REGRADE", missing)
        return self._because("REUSE" if self.change.is_same_reward else "REDUCE")

    def _because(self, effect: Effect, missing: tuple[str, ...] = ()) -> Reason:
        reasons = [reason for reason in self.change.reasons if reason.effect == effect]
        if effect == "REUSE":
            return Reason(effect, "", "what its verdict rests on has not changed")
        if missing:
            names = {f"verify.{name}" for name in missing}
            reasons = [reason for reason in reasons if reason.part in names]
            if not reasons:
                return Reason(effect, f"verify.{missing[0]}", f"`{missing[0]}` was not measured")
        return reasons[0]

    def _has_row(self, split: str, fields: Mapping[str, Any]) -> bool:
        if split not in self._kept:
            old, new = self.before.data.get(split), self.after.data.get(split)
            both = isinstance(old, Rows) and isinstance(new, Rows)
            rows = new.rows if both and isinstance(new, Rows) else ()
            wanted = self.after.fields
            self._kept[split] = frozenset(digest({name: row[name] for name in wanted}) for row in rows)
        return bool(self._kept[split]) and digest(dict(fields)) in self._kept[split]


def classify_episode(before: Program, after: Program, episode: StoredEpisode) -> Reason:
    """Return what an edit asks of one stored episode; `Recall` does so for many."""
    return Recall(before, after).classify(episode)
