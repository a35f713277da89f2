"""The contract of a judge: what goes wrong is typed, because a run waits for some of it and never for the rest.

A judge that asks a server is tried against one: the contract starts it on this machine and answers as it is told.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Coroutine, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, TypeVar

from assay.core.error import JudgeError, JudgeOutage, JudgeRefused
from assay.core.judge import JudgeReply, JudgeRequest
from assay.core.leaf import Factory
from assay.runtime.testing.factory import FactoryContract

T = TypeVar("T")
SAID, READ, WRITTEN = "All is well.", 11, 7
REQUEST = JudgeRequest("large@1", (("system", "Be fair."), ("user", "How good is it?")), max_tokens=64)
_KEY_ENV, _KEY = "ASSAY_TESTING_KEY", "sesame-4711"
_PASSING, _LASTING = (429, 500, 503), (400, 401, 404)
_AT_ONCE = 4
_LONGEST_S = 30.0


class Answer:
    """What the server says next: a status, headers and a body."""

    def __init__(self, status: int, body: bytes, **headers: str) -> None:
        self.status = status
        self.body = body
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Server(ThreadingHTTPServer):
    """Answers every request with `answer`, once `gate` lets it; keeps what it was sent in `bodies`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = Answer(200, b"")
        self.bodies: list[str] = []
        self.gate: threading.Barrier | None = None
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"

    def close(self) -> None:
        """End it."""
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"] or 0)).decode())
        if self.server.gate is not None:
            self.server.gate.wait(_LONGEST_S)
        answer = self.server.answer
        self.send_response(answer.status)
        for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class JudgeContract(FactoryContract):
    """What holds of a judge.

    Attributes:
        judge: The factory.
        reply: Body with which its server says `All is well.`, having read 11 tokens and written 7; None for a judge
            that asks no server.
        address: Name of the option that takes the server's address.
        path: What is put behind the address, such as `/v1`.
        key_env: Name of the option that takes the environment variable of the key; None where there is none.
    """

    kind = "judge"
    judge: ClassVar[Factory]
    reply: ClassVar[str | None] = None
    address: ClassVar[str] = "base_url"
    path: ClassVar[str] = ""
    key_env: ClassVar[str | None] = "api_key_env"

    @classmethod
    def left_out(cls) -> Sequence[str]:
        """Leave out what needs a server, and keys, where there is none."""
        own = [name for name in vars(JudgeContract) if name.startswith("test_")]
        if cls.reply is None:
            return own
        return [] if cls.key_env is not None else ["test_its_key_is_told_to_nobody"]

    def test_a_reply_is_its_text_with_its_tokens(self) -> None:
        """Text and counts are those of the server, and the price is a number."""
        reply = self._ask(self._good())
        self.require(isinstance(reply, JudgeReply), "a judge must return a JudgeReply", got=reply)
        found = (reply.text, reply.prompt_tokens, reply.completion_tokens)
        self.require(found == (SAID, READ, WRITTEN), f"a reply must be {(SAID, READ, WRITTEN)}", got=found)
        self.require(reply.cost_usd >= 0, "a reply must say what it was charged", got=reply.cost_usd)

    def test_the_whole_question_is_asked(self) -> None:
        """Model, instructions, question and the longest reply reach the server."""
        self._ask(self._good())
        sent = self._server().bodies[-1]
        words = [REQUEST.model, *(text for _, text in REQUEST.messages), str(REQUEST.max_tokens)]
        missing = [word for word in words if word not in sent]
        self.require(not missing, "a judge must be asked the whole question", got=f"no {', '.join(missing)} in {sent}")

    def test_what_passes_by_itself_is_an_outage(self) -> None:
        """A server that is overrun, broken or not there is waited for, as long as it says."""
        for status in _PASSING:
            error = self._error(Answer(status, b"later", Retry_After="7"))
            self.require(isinstance(error, JudgeOutage), f"HTTP {status} must be a JudgeOutage", got=repr(error))
            waits_s = getattr(error, "retry_after_s", None)
            self.require(waits_s == 7.0, "an outage must say how long the server asks to wait", got=waits_s)
        with socket.create_server(("127.0.0.1", 0)) as free:
            nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
        error = self._error(None, nobody)
        self.require(
            isinstance(error, JudgeOutage), "an address where nobody is must be a JudgeOutage", got=repr(error)
        )

    def test_what_will_never_be_answered_is_refused(self) -> None:
        """A wrong key, a wrong request or a model that is not there is not asked again."""
        for status in _LASTING:
            error = self._error(Answer(status, b"no"))
            self.require(isinstance(error, JudgeRefused), f"HTTP {status} must be a JudgeRefused", got=repr(error))

    def test_a_reply_that_is_none_is_an_error(self) -> None:
        """What cannot be read as a reply is asked again: neither waited for nor given up."""
        for body in (b"", b"<html>", b"{}", b"[]", b"null", b"\xff\xfe"):
            error = self._error(Answer(200, body))
            is_plain = isinstance(error, JudgeError) and not isinstance(error, JudgeOutage | JudgeRefused)
            self.require(is_plain, f"a body {body!r} must be a JudgeError of neither kind", got=repr(error))

    def test_several_questions_are_asked_at_once(self) -> None:
        """The server has four questions before it answers the first."""
        server = self._server()
        server.answer = self._good()
        server.gate = threading.Barrier(_AT_ONCE)

        async def ask(judge: Any) -> list[JudgeReply]:
            async with asyncio.timeout(_LONGEST_S):
                return list(await asyncio.gather(*(judge.ask(REQUEST) for _ in range(_AT_ONCE))))

        try:
            replies = self._run(ask)
        except Exception as error:  # whatever it ends with, they were not together
            self.broken("a judge must ask several questions at once", got=error)
        finally:
            server.gate.abort()
            server.gate = None
        texts = [reply.text for reply in replies]
        self.require(texts == [SAID] * _AT_ONCE, "each question must get its reply", got=texts)

    def test_its_key_is_told_to_nobody(self) -> None:
        """The key is in no message, also where the server sends it back, and not in the identity."""
        body = f"the key {_KEY} is wrong".encode()
        for status in (*_LASTING, *_PASSING):
            said = str(self._error(Answer(status, body)))
            self.require(_KEY not in said, "a message must not hold the key", got=said)
        identity = self._run(_identity)
        self.require(_KEY not in identity, "the identity must not hold the key", got=identity)

    def test_its_identity_is_that_of_its_options(self) -> None:
        """Equal options, equal identity; replies of another address are another judge's."""
        one, again = self._run(_identity), self._run(_identity)
        other = self._run(_identity, "http://127.0.0.1:1")
        self.require(isinstance(one, str) and one, "a judge must have an identity", got=repr(one))
        self.require(one == again, "equal options must give an equal identity", got=f"{one}, then {again}")
        self.require(one != other, "another address must be another identity", got=one)

    def _good(self) -> Answer:
        assert self.reply is not None
        return Answer(200, self.reply.encode(), Content_Type="application/json")

    def _server(self) -> Server:
        return self.resource("server", Server)

    def _run(self, work: Any, url: str | None = None) -> Any:
        """Make a judge in a loop, let it work and close it."""
        given = {self.address: (url or self._server().url) + self.path}
        if self.key_env is not None:
            os.environ[_KEY_ENV] = _KEY
            given[self.key_env] = _KEY_ENV

        async def run() -> Any:
            judge = self.make(**given)
            try:
                return await work(judge)
            finally:
                await judge.close()

        try:
            return asyncio.run(run())
        finally:
            os.environ.pop(_KEY_ENV, None)

    def _ask(self, answer: Answer | None, url: str | None = None) -> JudgeReply:
        if answer is not None:
            self._server().answer = answer

        def ask(judge: Any) -> Coroutine[Any, Any, JudgeReply]:
            asked: Coroutine[Any, Any, JudgeReply] = judge.ask(REQUEST)
            return asked

        reply: JudgeReply = self._run(ask, url)
        return reply

    def _error(self, answer: Answer | None, url: str | None = None) -> Exception:
        """Return what asking ends with; a reply where there is none to be had breaks the contract."""
        try:
            reply = self._ask(answer, url)
        except Exception as error:
            return error
        self.broken("a judge must have a reply to return one", got=reply)


async def _identity(judge: Any) -> str:
    found: str = judge.identity
    return found
