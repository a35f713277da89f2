"""One sitting of one reviewer: shows, asks, keeps each mark before the next episode is shown.

Blind: no reward, verdict, signal, episode number or reason of choice is ever shown.
"""

import time
from collections.abc import Callable

import msgspec

from assay.core.error import StoreError
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.review.choice import Choice, Item
from assay.runtime.review.console import Console
from assay.runtime.review.exhibit import barred, make_exhibit
from assay.runtime.review.question import Question
from assay.runtime.review.store import Mark, ReviewStore

HELP = """\
  y n      yes or no; on a scale a number between its ends
  s        pass this one over; you are not asked again
  u        undo your last mark and look at it again
  o TEXT   add a note to the mark that follows
  m        show all of what was cut
  ?        this
  q        quit; every mark is kept already, and `assay review` goes on from here"""
# How often a reviewer who waits for questions is looked for one.
_WAIT_S = 0.5


class Session:
    """See the module.

    Args:
        run: Opened for reading.
        store: Where marks go.
        choice: What is shown next.
        reviewer: Name.
        console: Where.
        is_over: Asked where nothing is left: False waits for further questions.
    """

    def __init__(
        self,
        run: StoredRun,
        store: ReviewStore,
        choice: Choice,
        reviewer: str,
        console: Console,
        is_over: Callable[[], bool] = lambda: True,
    ) -> None:
        self._run = run
        self._store = store
        self._choice = choice
        self._reviewer = reviewer
        self._console = console
        self._is_over = is_over
        self._again: Mark | None = None
        self.num_marked = 0
        self.num_passed = 0

    def sit(self) -> None:
        """Go on until nothing is left or the reviewer quits."""
        has_said_so = False
        while True:
            item = self._choice.next(self._again)
            self._again = None
            if item is None:
                if self._is_over():
                    self._console.say("nothing is left to look at")
                    said = self._console.key("[u undoes your last mark, any other key ends] ")
                    if said is None or not said.lower().startswith("u"):
                        return
                    self._undo()
                    continue
                if not has_said_so:
                    has_said_so = True
                    self._console.say("waiting for questions; Ctrl-C ends")
                time.sleep(_WAIT_S)
                continue
            has_said_so = False
            if not self._ask(item):
                return

    def _ask(self, item: Item) -> bool:
        """Show one episode until it is marked, passed over or given back; False where the reviewer quits."""
        row = self._run.find(item.episode)
        assert row is not None
        try:
            exhibit = make_exhibit(self._run.task(row), self._run.played(row))
        except (StoreError, msgspec.MsgspecError):
            # Nobody can judge what is gone.
            self._keep(item, None, "", 0.0)
            return True
        started_s = time.monotonic()
        self._console.say(f"---- {self.num_marked + self.num_passed + 1}, domain {item.entry}")
        for line in exhibit.lines(self._console.width):
            self._console.say(line)
        for line in barred(item.question.text, self._console.width):
            self._console.say(f"?{line}")
        note = ""
        while True:
            said = self._read(item.question)
            if said is None:
                return False
            match said[:1]:
                case "q":
                    return False
                case "s":
                    self._keep(item, None, note, started_s)
                    self.num_passed += 1
                    return True
                case "u":
                    self._undo()
                    return True
                case "o":
                    note = said[1:].strip() or self._console.line("note: ") or ""
                case "m":
                    for line in exhibit.lines(self._console.width, whole=True):
                        self._console.say(line)
                case _:
                    value = read_value(said, item.question)
                    if value is None:
                        self._console.say(HELP)
                        continue
                    if self._keep(item, value, note, started_s):
                        self.num_marked += 1
                    else:
                        self._console.say("you have marked this one elsewhere meanwhile; that mark stays")
                    return True

    def _read(self, question: Question) -> str | None:
        """Return what the reviewer says, in lower case but for a note."""
        ends = "y/n" if question.is_binary else f"{question.low:g} to {question.high:g}"
        prompt = f"[{ends}, s u o m ? q] "
        while True:
            said = self._console.key(prompt) if question.is_binary else self._console.line(prompt)
            if said is None:
                return None
            said = said.strip()
            if said:
                return said[:1].lower() + said[1:]

    def _keep(self, item: Item, value: float | None, note: str, started_s: float) -> bool:
        took_s = time.monotonic() - started_s
        return self._store.keep(
            Mark(0, self._reviewer, item.episode, item.about, value, item.chosen, note, 0.0, took_s)
        )

    def _undo(self) -> None:
        self._store.release(self._reviewer)
        mark = self._again = self._store.undo(self._reviewer)
        if mark is None:
            self._console.say("there is nothing to undo")
            return
        self._console.say("undone")
        if mark.chosen == "question" and self._is_taken(mark.episode):
            self._console.say(
                "the run has taken that answer already: its verdict stays, `assay regrade --marks` changes it"
            )

    def _is_taken(self, episode: int) -> bool:
        row = self._run.find(episode)
        return row is not None and row.verdict_text is not None


def read_value(said: str, question: Question) -> float | None:
    """Return the mark in [0, 1] that an answer gives; None where it gives none."""
    if question.is_binary and said.lower() in ("y", "yes", "n", "no"):
        return float(said.lower()[0] == "y")
    try:
        value = float(said)
    except ValueError:
        return None
    if not question.low <= value <= question.high or (question.is_binary and value not in (0.0, 1.0)):
        return None
    return question.worth(value)
