"""A real HTTP server that speaks chat completions, well or badly, as a test tells it to."""

import json
import re
import select
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from assay.core.judge import JudgeRequest
from assay.runtime.judge.host import JudgeHost, Spent
from assay.runtime.verify.message import JudgeAnswer

MakeHost = Callable[..., JudgeHost]
Mind = Callable[[str], str]
"""From the text that a model reads to what it would write behind `=`."""

FORM = re.compile(r"^(grade|choice) ([0-9a-f]{24}) = VALUE$", re.M)
TEXT = re.compile(r"<<<text (\w+) ([0-9a-f]{24})>>>\n(.*?)\n<<<end \1 \2>>>", re.S)


def texts(prompt: str) -> dict[str, str]:
    """Return the quoted texts of a prompt by name."""
    return {name: text for name, _, text in TEXT.findall(prompt)}


class JudgeServer(ThreadingHTTPServer):
    """Serves on a free port of the loopback; a context manager.

    Attributes:
        mind: What the model thinks.
        says: What the model writes, where it does not keep to the form; None: what `mind` thinks, in form.
        trouble: What goes wrong instead of a reply, one per request from the front, then nothing: `429`, `500`, `401`,
            `echo`, `repeat`, `hang`, `drip`, `cut`, `garbage`, `empty`, `huge`, `gzip`, `away:URL`, `body:JSON`; one
            that ends with `!` stays, and an empty one is none.
        bodies: Of the requests that came.
        keys: Their `Authorization`.
    """

    daemon_threads = True

    def __init__(self, mind: Mind = lambda prompt: "8") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mind = mind
        self.says: Callable[[str], str] | None = None
        self.trouble: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.num_open = self.most_open = 0
        self.lock = threading.Lock()
        self.is_over = threading.Event()
        self.has_come = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def __enter__(self) -> "JudgeServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self.shutdown()
        self.server_close()
        self._thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error here."""


class _Handler(BaseHTTPRequestHandler):
    server: JudgeServer  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.bodies.append(body)
            server.keys.append(self.headers.get("Authorization"))
            server.num_open += 1
            server.most_open = max(server.most_open, server.num_open)
            trouble = server.trouble[0] if server.trouble else ""
            if server.trouble and not trouble.endswith("!"):
                del server.trouble[0]
        server.has_come.set()
        try:
            self._reply(trouble.removesuffix("!"), body)
        finally:
            with server.lock:
                server.num_open -= 1

    def _reply(self, trouble: str, body: dict[str, Any]) -> None:
        kind, _, detail = trouble.partition(":")
        match kind:
            case "":
                self._send(200, self._completion(body))
            case "429":
                self._send(429, b"slow down", {"Retry-After": detail} if detail else {})
            case "500" | "401" | "400":
                self._send(int(kind), b"no")
            case "echo":
                self._send(401, f"wrong key {self.headers.get('Authorization')}".encode())
            case "repeat":
                self._send(200, json.dumps(says(str(self.headers.get("Authorization")))).encode())
            case "huge":
                self._send(200, b"x" * (50 << 20))
            case "gzip":
                self._send(200, b"no gzip", {"Content-Encoding": "gzip"})
            case "away":
                self._send(307, b"", {"Location": detail})
            case "body":
                self._send(200, detail.encode())
            case "drip":
                self.send_response(200)
                self.send_header("Content-Length", "1000000")
                self.end_headers()
                while not self.server.is_over.wait(0.01):
                    self.wfile.write(b" ")
            case "hang":
                self.server.is_over.wait()
            case "cut":
                data = self._completion(body)
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: len(data) // 2])
                self.wfile.flush()
                self.close_connection = True
            case "garbage":
                self._send(200, b"<html>welcome</html>")
            case "empty":
                self._send(200, b'{"choices": []}')

    def _completion(self, body: dict[str, Any]) -> bytes:
        prompt = body["messages"][1]["content"]
        if self.server.says is not None:
            text = self.server.says(prompt)
        else:
            form = FORM.search(body["messages"][0]["content"])
            assert form is not None
            text = f"Well.\n{form[1]} {form[2]} = {self.server.mind(prompt)}"
        usage = {"prompt_tokens": 1000, "completion_tokens": 100}
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def says(text: str, **usage: Any) -> dict[str, Any]:
    """Return a completion that says a text."""
    return {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}


def collect(host: JudgeHost, count: int, within_s: float = 10.0) -> dict[int, JudgeAnswer]:
    """Wait for so many answers; by job."""
    found: dict[int, JudgeAnswer] = {}
    while len(found) < count:
        assert select.select([host.fileno()], [], [], within_s)[0], "no answer came"
        found |= dict(host.answers())
    return found


def ask(
    host: JudgeHost, request: JudgeRequest, job_id: int = 1, *, should_keep: bool = True
) -> tuple[JudgeAnswer, Spent]:
    """Ask one question and end its job."""
    host.ask(job_id, 1, request, "dist:1:m:verifier", 1)
    answer = collect(host, 1)[job_id]
    return answer, host.end(job_id, should_keep=should_keep)
