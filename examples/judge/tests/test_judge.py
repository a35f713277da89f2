"""The judge asks a real server, and domains are graded by it."""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from assay_example_judge import MESSAGES
from assay_example_judge.judge import MessagesJudge

import assay
from assay.runtime.cli import main
from assay.testing import JudgeContract

REQUEST = assay.JudgeRequest("large@1", (("system", "Be fair."), ("user", "How good?")), 64, 0.5)
DOMAIN = """\
assay: 1
domain: demo.essay
version: 1
fields: {topic: str}
data:
  train:
    - {topic: spring}
prompt: "Write about {topic}."
verify:
  quality: judge.score("large@1", "Is it about spring?", topic)
reward:
  outcome:
    good: 1.0*quality.score
controls:
  oracle: {answer: "All is spring.", reward: "> 0.8"}
  nop: {answer: "No.", reward: "< 0.2"}
"""
WELL = """{"content": [{"type": "text", "text": "All is well."}], "usage": {"input_tokens": 11, "output_tokens": 7}}"""
FORM = re.compile(r"grade [0-9a-f]{24} = ")


class Server(ThreadingHTTPServer):
    """Speaks the Messages API; `trouble` is what it answers first, as a status each."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.trouble: list[int] = []
        self.asked: list[tuple[dict[str, Any], str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((body, self.headers.get("x-api-key")))
        status = self.server.trouble.pop(0) if self.server.trouble else 200
        form = FORM.search(body["system"])
        text = "Well."
        if form is not None:
            # An answer about spring says so twice: the topic stands in the question, too.
            text += f"\n{form[0]}{9 if body['messages'][0]['content'].count('spring') > 2 else 1}"
        reply = {"content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1000, "output_tokens": 100}}
        data = json.dumps(reply).encode() if status == 200 else b"{}"
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server: Server, **options: Any) -> assay.JudgeReply:
    async def run() -> assay.JudgeReply:
        judge = MessagesJudge(server.url, **options)
        try:
            return await judge.ask(REQUEST)
        finally:
            await judge.close()

    return asyncio.run(run())


def test_reply_has_text_tokens_and_price(server: Server) -> None:
    reply = ask(server, input_usd=1.0, output_usd=10.0)
    assert ("Well.", 1000, 100, pytest.approx(0.002)) == (
        reply.text, reply.prompt_tokens, reply.completion_tokens, reply.cost_usd
    )  # fmt: skip
    (body, _), *_ = server.asked
    assert ("Be fair.", [{"role": "user", "content": "How good?"}]) == (body["system"], body["messages"])


def test_key_comes_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "secret")
    ask(server, api_key_env="JUDGE_KEY")
    assert "secret" == server.asked[0][1]


@pytest.mark.parametrize(
    ("status", "error"),
    [(529, assay.JudgeOutage), (500, assay.JudgeOutage), (429, assay.JudgeOutage), (401, assay.JudgeRefused)],
)
def test_failure_is_an_outage_or_a_refusal(server: Server, status: int, error: type[assay.JudgeError]) -> None:
    server.trouble = [status]
    with pytest.raises(error, match=f"HTTP {status}"):
        ask(server)


@pytest.mark.slow
def test_domain_is_graded_through_an_outage(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "essay.yaml"
    path.write_text(DOMAIN)
    server.trouble = [529, 529]
    words = ["test", str(path), "--controls", "--rows", "1", "judge=messages", f"judge.base_url={server.url}"]
    assert 0 == main(words), capsys.readouterr()
    assert "controls.oracle  reward > 0.8  got 0.9  1 row" in capsys.readouterr().out
    assert 4 == len(server.asked)


TestMessages = JudgeContract.of(MESSAGES, reply=WELL)
