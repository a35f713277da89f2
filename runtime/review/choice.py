"""What a reviewer is shown next.

Questions that a run waits for come first, group by group: a group is trained once all of it is answered. Then follow
the sample and the disputed episodes, mixed in an order of chance, so that their place says nothing about why they are
there. A share of both is for two reviewers.
"""

import time
from collections.abc import Sequence

import msgspec

from assay.core.error import StoreError
from assay.core.signal import SignalSpec
from assay.dsl.program import Program
from assay.runtime.coordinator.ledger import read_only
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.review import dispute, sample
from assay.runtime.review.question import Question, asked_of, people_of
from assay.runtime.review.store import Asked, Mark, ReviewStore

SUCCESS = "success"
RIGHT = "Is this answer right?"
# How long a choice among what is graded stays as it is while the run goes on.
_FRESH_S = 30.0


class Wish(msgspec.Struct, frozen=True):
    """What is to be looked at.

    Attributes:
        entries: Of the mix; empty for all.
        size: Episodes of the sample.
        floor: Least of each domain and outcome.
        disputes: Most disputed episodes.
        least_agreement: Below which a judge does not agree with itself.
        twice: Share that two reviewers look at.
        seed: Of every chance.
        matter: `verifier.signal` that a mark stands for; empty for success.
        text: Asked instead of the usual question; empty keeps it.
        has_sample: False for nothing but questions.
        has_questions: False for nothing but the sample and what is disputed.
    """

    entries: tuple[str, ...] = ()
    size: int = sample.SIZE
    floor: int = sample.FLOOR
    disputes: int = 20
    least_agreement: float = dispute.LEAST_AGREEMENT
    twice: float = sample.TWICE
    seed: int = 0
    matter: str = ""
    text: str = ""
    has_sample: bool = True
    has_questions: bool = True


class Item(msgspec.Struct, frozen=True):
    """One episode to look at; `chosen` is never shown."""

    episode: int
    about: str
    entry: str
    question: Question
    chosen: str


class Choice:
    """Chooses for one reviewer.

    Args:
        run: Opened for reading.
        store: Where marks are.
        reviewer: Name.
        wish: What is to be looked at.
    """

    def __init__(self, run: StoredRun, store: ReviewStore, reviewer: str, wish: Wish) -> None:
        self._run = run
        self._store = store
        self._reviewer = reviewer
        self._wish = wish
        self._every: dict[str, Program] = {entry.name: entry.program for entry in run.plan.entries}
        self._programs = {
            name: program for name, program in self._every.items() if not wish.entries or name in wish.entries
        }
        self._ledger = read_only(run.folder.ledger)
        self._looked_at: list[tuple[int, str]] = []
        self._matters: dict[int, str | None] = {}
        self._chosen_at_s = -_FRESH_S

    def close(self) -> None:
        """Let go of what is on the screen, and of the ledger."""
        self._store.release(self._reviewer)
        self._ledger.close()

    def next(self, again: Mark | None = None) -> Item | None:
        """Return what to show, which is this reviewer's until it is marked; None where nothing is left.

        Args:
            again: A mark that was undone, whose episode comes first.
        """
        waiting, answered = self._questions()
        asked = {(one.episode, one.id): one for one in (*waiting, *answered)}
        wanted = [(one.episode, one.id, 1) for one in waiting]
        reasons = {(one.episode, one.id): "question" for one in asked.values()}
        for episode, chosen in self._sampled():
            about = self._matter(episode)
            if about is not None:
                reasons.setdefault((episode, about), chosen)
                is_for_two = sample.is_for_two(episode, self._wish.seed, self._wish.twice)
                wanted.append((episode, about, 2 if is_for_two else 1))
        wanted += [
            (one.episode, one.id, 2)
            for one in answered
            if self._wish.has_sample and sample.is_for_two(one.episode, self._wish.seed, self._wish.twice)
        ]
        if again is not None:
            wanted.insert(0, (again.episode, again.about, len(wanted) + 2))
            reasons.setdefault((again.episode, again.about), again.chosen)
        taken = self._store.claim(self._reviewer, wanted)
        if taken is None:
            return None
        episode, about = taken
        one = asked.get(taken)
        row = self._run.find(episode)
        if row is None:
            raise StoreError("an episode must be in the ledger", got=episode, at=self._run.folder.ledger)
        question = Question(one.text, one.low, one.high) if one is not None else self._question(row.entry, taken)
        return Item(episode, about, row.entry, question, reasons[taken])

    def num_waiting(self) -> int:
        """Return how many questions of a run nobody has answered."""
        return len(self._questions()[0])

    def _questions(self) -> tuple[list[Asked], list[Asked]]:
        """Return the questions somebody waits for, and those that are answered."""
        asked = self._store.questions() if self._wish.has_questions else []
        if not asked:
            return [], []
        answered = {(mark.episode, mark.about) for mark in self._store.marks()}
        waiting: list[tuple[int, float, Asked]] = []
        done: list[Asked] = []
        for one in asked:
            row = self._ledger.execute(
                "SELECT e.state, g.entry, g.grp FROM episode e JOIN grp g USING (grp) WHERE e.episode = ?",
                (one.episode,),
            ).fetchone()
            if row is None or row[1] not in self._programs:
                continue
            if (one.episode, one.id) in answered:
                done.append(one)
            elif one.origin == "regrade" or row[0] == "rolled":
                waiting.append((row[2], sample.draw(self._wish.seed, "order", one.episode), one))
        return [one for *_, one in sorted(waiting, key=lambda item: item[:2])], done

    def _sampled(self) -> list[tuple[int, str]]:
        """Return episodes and why they were chosen, in the order in which they are shown."""
        if not self._wish.has_sample:
            return []
        now_s = time.monotonic()
        if now_s - self._chosen_at_s >= _FRESH_S:
            self._chosen_at_s = now_s
            wish = self._wish
            population = sample.read_population(self._ledger, list(self._programs))
            chosen = sample.choose(population, wish.size, wish.floor, wish.seed)
            found = dispute.find_disputes(self._ledger, self._programs, self._answer, wish.least_agreement)
            disputed = sample.shuffled(sorted(set(found) - set(chosen)), wish.seed)[: wish.disputes]
            reasons = {**dict.fromkeys(disputed, "dispute"), **dict.fromkeys(chosen, "sample")}
            self._looked_at = [(episode, reasons[episode]) for episode in sample.shuffled(list(reasons), wish.seed)]
        return self._looked_at

    def _answer(self, episode: int) -> str | None:
        row = self._run.find(episode)
        try:
            played = None if row is None else self._run.played(row)
        except (StoreError, msgspec.MsgspecError):
            return None
        return None if played is None else played.answer if played.answer is not None else played.final_text

    def _matter(self, episode: int) -> str | None:
        """Return what a mark of a sampled episode is about; None where its task cannot be read."""
        if self._wish.matter:
            return self._wish.matter
        if episode not in self._matters:
            row = self._run.find(episode)
            assert row is not None
            if people_of(self._programs[row.entry]):
                question = self._own_question(row.entry, episode)
                self._matters[episode] = None if question is None else question.id
            else:
                self._matters[episode] = SUCCESS
        return self._matters[episode]

    def _question(self, entry: str, taken: tuple[int, str]) -> Question:
        """Return what is asked about a matter, which of a mark that was undone need not be what is wished now."""
        episode, about = taken
        if about == SUCCESS:
            return Question(RIGHT if self._wish.matter else self._wish.text or RIGHT)
        if "." in about:
            return matter_question(self._every[entry], about, self._wish.text if about == self._wish.matter else "")
        stored = [one for one in self._store.questions() if (one.episode, one.id) == taken]
        question = Question(stored[0].text, stored[0].low, stored[0].high) if stored else None
        question = question or self._own_question(entry, episode)
        assert question is not None
        return question

    def _own_question(self, entry: str, episode: int) -> Question | None:
        """Return what a domain asks people about every episode, which is asked again of a sampled one."""
        row = self._run.find(episode)
        program = self._every[entry]
        try:
            return None if row is None else asked_of(program, people_of(program)[0], self._run.fields(row))
        except (StoreError, ValueError):
            return None


def matter_question(program: Program, matter: str, text: str = "") -> Question:
    """Return what is asked about one signal of one verifier.

    Args:
        program: Of the domain.
        matter: `verifier.signal`.
        text: Asked instead of what the signal says of itself.
    """
    spec = find_signal(program, matter)
    assert spec is not None
    low, high = (0.0, 1.0) if spec.kind.name == "bool" else (spec.kind.lo or 0.0, spec.kind.hi or 1.0)
    return Question(text or f"`{matter}`: {spec.doc or 'does it hold?'}", low, high)


def find_signal(program: Program, matter: str) -> SignalSpec | None:
    """Return a signal that a mark can stand for: a bool, or a number with two ends; None where there is none."""
    name, _, signal = matter.partition(".")
    verify = program.verify.get(name)
    spec = None if verify is None else verify.signals.get(signal)
    if spec is None:
        return None
    has_ends = spec.kind.lo is not None and spec.kind.hi is not None and spec.kind.lo < spec.kind.hi
    return spec if spec.kind.name == "bool" or has_ends else None


def matters(programs: Sequence[Program]) -> list[str]:
    """Return everything that a mark can stand for in some domains."""
    return sorted(
        {
            f"{name}.{signal}"
            for program in programs
            for name, verify in program.verify.items()
            for signal in verify.signals
            if find_signal(program, f"{name}.{signal}") is not None
        }
    )
