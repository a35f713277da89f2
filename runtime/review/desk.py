"""Verifications that people make: questions into the run's queue, answers out of it.

For `GradeDesk` it is what the host of verifier processes is for everything else: jobs in, outcomes out. It waits for
hours without a process, and a run that is killed and resumed finds what was answered meanwhile.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from assay.core.error import StoreError
from assay.core.quantity import format_duration
from assay.core.verdict import Cause, Measurement
from assay.runtime.review.question import SIGNAL, Question, read_question
from assay.runtime.review.store import ReviewStore
from assay.runtime.verify.flight import Outcome

NOBODY = "a person cannot be asked here"
"""Detail of a verdict where there is no queue: before a run, and in `assay try`."""

LOOK_S = 0.5
"""How often answers are looked for; people do not notice."""

OUTAGE_S = 60.0
"""How long a queue that is locked or cannot be written is tried again, before what was asked is unscored."""

# A verify worker has others to serve, who must not wait for somebody that holds the file.
_LOCK_S, _RETRY_S = 0.5, 5.0


class PeopleDesk:
    """The questions of one verify worker.

    Args:
        run: Folder of the run, which holds the queue.
        can_wait: False for who asks and does not wait, as a regrade: what is not answered yet is unscored.
        clock: Seconds, never going back.
    """

    def __init__(self, run: Path, *, can_wait: bool = True, clock: Callable[[], float] = time.monotonic) -> None:
        self._run = run
        self._can_wait = can_wait
        self._clock = clock
        self._store: ReviewStore | None = None
        self._open: dict[int, _Waiting] = {}
        self._outcomes: list[Outcome] = []
        self._look_at_s = 0.0
        self._version = -1
        self._has_new = False
        self._failing_since_s: float | None = None

    @property
    def num_open(self) -> int:
        """Questions without an answer."""
        return len(self._open)

    def ask(self, job_id: int, episode: int, name: str, ref: str, version: int, arguments: Mapping[str, Any]) -> None:
        """Put a question; its outcome comes with a later `poll`.

        Args:
            job_id: Named in its outcome.
            episode: Number in the ledger.
            name: Of the verification in its domain.
            ref: `dist:version:module:attribute` of the verifier.
            version: Its own version.
            arguments: Bound ones.
        """
        try:
            question = read_question(arguments)
        except (ValueError, TypeError) as error:
            self._fail(job_id, "verifier_fault", str(error))
            return
        self._open[job_id] = _Waiting(episode, name, question, ref, version, self._clock())
        self._version, self._has_new = -1, True

    def withdraw(self, job_id: int) -> None:
        """Give a question up; safe for one that is unknown. It stays on record."""
        self._open.pop(job_id, None)

    def poll(self) -> list[Outcome]:
        """Return the outcomes there are, without waiting."""
        now_s = self._clock()
        is_new, self._has_new = self._has_new and self._failing_since_s is None, False
        if self._open and (now_s >= self._look_at_s or is_new):
            self._look(now_s)
            self._look_at_s = now_s + (LOOK_S if self._failing_since_s is None else _RETRY_S)
        outcomes, self._outcomes = self._outcomes, []
        return outcomes

    def close(self) -> None:
        """Close the file; questions stay."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _look(self, now_s: float) -> None:
        try:
            self._put()
            self._take(now_s)
            self._failing_since_s = None
        except StoreError as error:
            self.close()
            self._version = -1
            if self._failing_since_s is None:
                self._failing_since_s = now_s
            if now_s - self._failing_since_s >= OUTAGE_S or not self._can_wait:
                for job_id in list(self._open):
                    self._fail(job_id, "infra", str(error))
            return
        for job_id, waiting in list(self._open.items()):
            patience_s = waiting.question.patience_s
            if not self._can_wait:
                self._fail(job_id, "cancelled", "nobody has answered yet: `assay review` asks")
            elif now_s - waiting.since_s >= patience_s:
                self._fail(job_id, "verifier_timeout", f"nobody answered within {format_duration(patience_s)}")

    def _put(self) -> None:
        """Put the questions that are not in the queue yet."""
        for waiting in self._open.values():
            if not waiting.is_put:
                origin = "run" if self._can_wait else "regrade"
                self._file().ask(waiting.episode, waiting.name, waiting.question, origin)
                waiting.is_put = True

    def _take(self, now_s: float) -> None:
        """Take the answers that came since the last look."""
        version = self._file().version()
        if version == self._version:
            return
        for job_id, waiting in list(self._open.items()):
            value = self._file().answer(waiting.episode, waiting.question.id)
            if value is not None:
                del self._open[job_id]
                found = Measurement(waiting.ref, waiting.version, {SIGNAL: value}, now_s - waiting.since_s)
                self._outcomes.append(Outcome(job_id, found))
        self._version = version

    def _fail(self, job_id: int, cause: Cause, detail: str) -> None:
        self._open.pop(job_id, None)
        self._outcomes.append(Outcome(job_id, None, cause, detail))

    def _file(self) -> ReviewStore:
        if self._store is None:
            self._store = ReviewStore(self._run, wait_s=_LOCK_S)
        return self._store


class _Waiting:
    def __init__(self, episode: int, name: str, question: Question, ref: str, version: int, since_s: float) -> None:
        self.episode = episode
        self.name = name
        self.is_put = False
        self.question = question
        self.ref = ref
        self.version = version
        self.since_s = since_s
