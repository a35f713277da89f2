"""A judge for a loop that must not wait: questions go to a thread with an event loop, answers come back by descriptor.

So many questions are out at a time. An outage is waited out: tries with growing, jittered pauses (as long as the judge
asks for, where it says so) until the judge has been away for `patience_s` of the question's life. While it pauses, a
question holds no place. A garbled reply is asked for again a few times, a refusal never.

Invariants: every question has exactly one answer, unless its job was released; what a reply cost is counted once, for
the job that caused it, also where the job failed.
"""

import asyncio
import contextlib
import math
import os
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from assay.core.error import JudgeError, JudgeOutage, JudgeRefused
from assay.core.judge import JudgeBackend, JudgeReply, JudgeRequest
from assay.runtime.judge.cache import ReplyCache, reply_key
from assay.runtime.verify.message import JudgeAnswer

_CLOSE_S = 5.0
# Those that wait for a judge come back to it within so many seconds of its return.
_TOGETHER_S = 0.5
# A shorter outage is nobody's business.
_TOLD_S = 5.0
# So many refusals of one model in a row are no question's fault.
_MAX_REFUSED = 20


class Patience(msgspec.Struct, frozen=True):
    """How a judge is asked.

    Attributes:
        concurrency: Questions out at a time.
        timeout_s: Seconds one try may take.
        retries: Further tries after a reply that is none.
        patience_s: Seconds of outage that a question lives through.
        backoff_s: Pause after the first failed try; it doubles from try to try.
        max_backoff_s: Longest pause that the judge did not ask for.
    """

    concurrency: int = 8
    timeout_s: float = 60.0
    retries: int = 3
    patience_s: float = 600.0
    backoff_s: float = 0.5
    max_backoff_s: float = 30.0


class Spent(msgspec.Struct):
    """What the questions of one job took.

    Attributes:
        num_calls: Replies, those from the cache included.
        num_cached: Replies from the cache.
        cost_usd: What they were charged.
        queue_s: Seconds questions waited to be asked, or for an outage to end.
    """

    num_calls: int = 0
    num_cached: int = 0
    cost_usd: float = 0.0
    queue_s: float = 0.0

    def add(self, other: "Spent") -> None:
        """Add what another try took."""
        self.num_calls += other.num_calls
        self.num_cached += other.num_cached
        self.cost_usd += other.cost_usd
        self.queue_s += other.queue_s


class _Job:
    """What is out for one job, and what came of it."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[None]] = set()
        self.replies: dict[str, JudgeReply] = {}
        self.spent = Spent()


class JudgeHost:
    """Asks one judge for many jobs.

    Args:
        make: Makes the judge; called in the thread that asks.
        name: Under which its replies are kept, such as the factory's reference.
        patience: How it is asked.
        cache: File of replies; None keeps none beyond this object.
        should_cache: False asks every question anew.
        purpose: Under which its replies stand on the bill.
        clock: Seconds, never going back.
    """

    def __init__(
        self,
        make: Callable[[], JudgeBackend],
        *,
        name: str = "",
        patience: Patience | None = None,
        cache: Path | None = None,
        should_cache: bool = True,
        purpose: str = "run",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.patience = patience or Patience()
        self._name = name
        self._purpose = purpose
        self._should_cache = should_cache
        self._clock = clock
        self._answers: deque[tuple[int, JudgeAnswer]] = deque()
        self._jobs: dict[int, _Job] = {}
        self._away_since_s: float | None = None
        self._reason = self._refusal = ""
        self._num_refused: dict[str, int] = {}
        self._back = asyncio.Event()
        self._random = random.Random()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="judge", daemon=True)
        self._thread.start()
        self._credits = asyncio.Semaphore(self.patience.concurrency)
        try:
            self._judge, self._cache = self._call(lambda: (make(), ReplyCache(cache)))
        except BaseException:
            self._stop()
            raise

    def fileno(self) -> int:
        """A descriptor that is readable while answers wait."""
        return self._wake

    def ask(self, job_id: int, call_id: int, request: JudgeRequest, verifier: str = "", version: int = 0) -> None:
        """Ask for a job; the answer comes out of `answers`.

        Args:
            job_id: Unique among open jobs.
            call_id: Named in the answer.
            request: The question.
            verifier: Reference of who asks.
            version: Its version.
        """
        key = reply_key(self._name, self._judge.identity, verifier, version, request)
        self._loop.call_soon_threadsafe(self._begin, job_id, call_id, request, key, self._clock())

    def answers(self) -> list[tuple[int, JudgeAnswer]]:
        """Return the answers that came, with the numbers of their jobs."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        found = []
        while self._answers:
            found.append(self._answers.popleft())
        return found

    def end(self, job_id: int, *, should_keep: bool) -> Spent:
        """End a job: what it still asks is given up.

        Args:
            job_id: Which; one that never asked has spent nothing.
            should_keep: Whether its replies are worth keeping: they could be read.

        Returns:
            What its questions took.
        """
        # Behind whatever `ask` has queued, so that nothing begins after its end.
        return self._call(lambda: self._end(job_id, should_keep))

    def trouble(self) -> str:
        """Return one line where the judge has been away for a while; empty where it has not."""
        since_s = self._away_since_s
        if since_s is None or self._clock() - since_s < _TOLD_S:
            return ""
        return f"the judge has been away for {self._clock() - since_s:.0f} s: {self._reason}"

    def require_taken(self) -> None:
        """Complain once about a model of which nothing but refusals comes.

        Raises:
            JudgeRefused: so many in a row that the next would be another.
        """
        for model, count in list(self._num_refused.items()):
            if count >= _MAX_REFUSED:
                self._num_refused.clear()
                raise JudgeRefused(
                    f"a judge must not refuse {_MAX_REFUSED} questions in a row",
                    got=self._refusal,
                    at=f"model {model}",
                    todo="Mend key, model or server; then a run goes on with run.resume=RUN",
                )

    def close(self) -> None:
        """Give up what is out and close the judge; safe to call twice."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._end_all(), self._loop).result()
        with contextlib.suppress(Exception):  # it is over; a judge that cannot say goodbye is left
            asyncio.run_coroutine_threadsafe(self._judge.close(), self._loop).result(_CLOSE_S)
        self._call(self._cache.close)
        self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        os.close(self._wake)

    def _call(self, function: Callable[[], Any]) -> Any:
        """Call something in the thread that asks, and wait for it."""

        async def run() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    # In the thread that asks

    def _begin(self, job_id: int, call_id: int, request: JudgeRequest, key: str, asked_s: float) -> None:
        job = self._jobs.setdefault(job_id, _Job())
        task = self._loop.create_task(self._answer(job, job_id, call_id, request, key, asked_s))
        job.tasks.add(task)
        task.add_done_callback(job.tasks.discard)

    async def _answer(
        self, job: _Job, job_id: int, call_id: int, request: JudgeRequest, key: str, asked_s: float
    ) -> None:
        try:
            reply = self._cache.get(key) if self._should_cache else None
            if reply is not None:
                job.spent.num_cached += 1
            else:
                reply = await self._ask(job, request, asked_s)
                job.spent.cost_usd += reply.cost_usd
                self._cache.charge(self._purpose, reply.cost_usd)
                job.replies[key] = reply
            job.spent.num_calls += 1
            answer = JudgeAnswer(call_id, reply)
        except JudgeError as error:
            answer = JudgeAnswer(call_id, None, str(error), _failure(error))
        except Exception as error:  # a judge is a package's code; whatever it raises is this job's failure
            answer = JudgeAnswer(call_id, None, f"{type(error).__name__}: {error}"[:400], "error")
        self._answers.append((job_id, answer))
        os.eventfd_write(self._wake, 1)

    async def _ask(self, job: _Job, request: JudgeRequest, asked_s: float) -> JudgeReply:
        """Ask until there is a reply, or a reason to give up."""
        num_garbled = num_away = 0
        waiting_s = asked_s
        while True:
            async with self._credits:
                began_s = self._clock()
                job.spent.queue_s += began_s - waiting_s
                try:
                    async with asyncio.timeout(self.patience.timeout_s):
                        reply = _checked(await self._judge.ask(request))
                    self._come_back()
                    self._num_refused[request.model] = 0
                    return reply
                except TimeoutError:
                    error: JudgeError = JudgeOutage(f"a judge must answer within {self.patience.timeout_s:g} s")
                except JudgeError as raised:
                    error = raised
            waiting_s = self._clock()
            if isinstance(error, JudgeRefused):
                self._come_back()
                self._refusal = str(error)
                self._num_refused[request.model] = self._num_refused.get(request.model, 0) + 1
                raise error
            if isinstance(error, JudgeOutage):
                num_away += 1
                pause_s = self._pause(num_away, error.retry_after_s)
                self._check_patience(error, asked_s, began_s, pause_s)
            else:
                self._come_back()
                num_garbled += 1
                if num_garbled > self.patience.retries:
                    raise error
                pause_s = self._pause(num_garbled, None)
            await self._rest(pause_s, is_asked_for=getattr(error, "retry_after_s", None) is not None)

    def _check_patience(self, error: JudgeOutage, asked_s: float, began_s: float, pause_s: float) -> None:
        """Give up where the judge has been away for too long of this question's life."""
        self._reason = str(error)
        if self._away_since_s is None:
            self._away_since_s = began_s
        away_s = self._clock() - max(self._away_since_s, asked_s)
        if away_s + pause_s > self.patience.patience_s:
            raise JudgeOutage(
                f"a judge must come back within {self.patience.patience_s:g} s",
                got=f"{away_s:.1f} s without an answer, at last: {error}",
                todo="Raise judge.patience_s, or mend the judge",
            )

    def _come_back(self) -> None:
        """The judge answers: those that wait for it need not sleep on."""
        if self._away_since_s is not None:
            self._away_since_s = None
            back, self._back = self._back, asyncio.Event()
            back.set()

    async def _rest(self, pause_s: float, *, is_asked_for: bool) -> None:
        """Pause; unless the judge asked for it, only until it answers another question."""
        if is_asked_for:
            await asyncio.sleep(pause_s)
            return
        try:
            async with asyncio.timeout(pause_s):
                await self._back.wait()
        except TimeoutError:
            return
        await asyncio.sleep(self._random.uniform(0.0, min(_TOGETHER_S, self.patience.backoff_s)))

    def _pause(self, num_failures: int, wanted_s: float | None) -> float:
        longest_s = min(self.patience.max_backoff_s, self.patience.backoff_s * 2.0 ** min(num_failures - 1, 30))
        # Full jitter: those that failed together do not come back together. `Retry-After: 0` is no leave to storm it.
        return max(wanted_s or 0.0, self._random.uniform(0.0, longest_s))

    async def _end_all(self) -> None:
        tasks = [task for job in self._jobs.values() for task in job.tasks]
        for job_id in list(self._jobs):
            self._end(job_id, should_keep=False)
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_S)

    def _end(self, job_id: int, should_keep: bool) -> Spent:
        job = self._jobs.pop(job_id, None)
        if job is None:
            return Spent()
        for task in job.tasks:
            task.cancel()
        if should_keep and self._should_cache and job.replies:
            self._cache.put(job.replies)
        return job.spent


def _checked(reply: Any) -> JudgeReply:
    """Return what a package's judge returned, where it is a reply that can be kept and added up."""
    if (
        not isinstance(reply, JudgeReply)
        or not isinstance(reply.text, str)
        or not isinstance(reply.cost_usd, (int, float))
        or not 0.0 <= reply.cost_usd < math.inf
    ):
        raise JudgeError("a judge must return a JudgeReply with a text and a price", got=repr(reply)[:200])
    return reply


def _failure(error: JudgeError) -> Any:
    if isinstance(error, JudgeRefused):
        return "refused"
    return "outage" if isinstance(error, JudgeOutage) else "error"
