"""The judge of a verifier, seen from its locked-down worker: questions go to the host, which has network and key.

While a verifier waits for its judge, its own time stands still: how long a judge takes says nothing about the verifier.
"""

import asyncio
from collections.abc import Awaitable, Callable

from assay.core.error import JudgeError, JudgeOutage, JudgeRefused
from assay.core.judge import JudgeReply, JudgeRequest
from assay.runtime.verify.message import JudgeAnswer, JudgeCall

Send = Callable[[JudgeCall], Awaitable[None]]

_ERRORS: dict[str, type[JudgeError]] = {"error": JudgeError, "outage": JudgeOutage, "refused": JudgeRefused}


class OwnTime:
    """The deadline of one call, which stands still while the call waits for somebody else.

    Args:
        scope: Ends the call; entered already.
    """

    def __init__(self, scope: asyncio.Timeout) -> None:
        self._scope = scope
        self._num_waiting = 0
        self._left_s = 0.0

    def stop(self) -> None:
        """Begin to wait; may be nested."""
        deadline = self._scope.when()
        if self._num_waiting == 0 and deadline is not None:
            self._left_s = deadline - asyncio.get_running_loop().time()
            self._scope.reschedule(None)
        self._num_waiting += 1

    def go_on(self) -> None:
        """End what `stop` began."""
        self._num_waiting -= 1
        if self._num_waiting == 0 and not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time() + self._left_s)


class JudgeLine:
    """Questions on their way to the host, by number.

    Args:
        send: Sends one message.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: dict[int, asyncio.Future[JudgeReply]] = {}
        self._num_calls = 0

    async def ask(self, job_id: int, request: JudgeRequest) -> JudgeReply:
        """Ask and wait for the reply.

        Raises:
            JudgeError: there is none.
        """
        self._num_calls += 1
        call_id = self._num_calls
        future = self._waiting[call_id] = asyncio.get_running_loop().create_future()
        try:
            await self._send(JudgeCall(job_id, call_id, request))
            return await future
        finally:
            del self._waiting[call_id]

    def take(self, answer: JudgeAnswer) -> None:
        """Hand an answer to whoever waits; nobody may: a call that was ended."""
        future = self._waiting.get(answer.call_id)
        if future is None or future.done():
            return
        if answer.reply is not None:
            future.set_result(answer.reply)
        else:
            future.set_exception(_ERRORS[answer.failure or "error"]("a judge must answer", got=answer.error))


class RemoteJudge:
    """A judge as `assay.Judge` describes it.

    Attributes:
        time: Of the call that asks; set when it begins.
    """

    def __init__(self, line: JudgeLine, job_id: int) -> None:
        self._line = line
        self._job_id = job_id
        self.time: OwnTime | None = None

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """Ask, with the caller's time standing still."""
        if self.time is not None:
            self.time.stop()
        try:
            return await self._line.ask(self._job_id, request)
        finally:
            if self.time is not None:
                self.time.go_on()
