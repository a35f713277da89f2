"""A judge is asked over a real socket: outages are waited out, refusals are not, and every reply is paid for once."""

import asyncio
import json
import re
import resource
import time
from pathlib import Path

import msgspec
import pytest
from judge_server import JudgeServer, MakeHost, ask, collect, says

from assay.core.error import ConfigError, JudgeRefused
from assay.core.judge import JudgeReply, JudgeRequest
from assay.runtime.judge import host as host_
from assay.runtime.judge.cache import Bill, read_bill
from assay.runtime.judge.openai import OpenAIJudge

REQUEST = JudgeRequest(
    "large@1", (("system", "grade " + "a" * 24 + " = VALUE"), ("user", "How good?")), 64, 0.5, seed=3
)
REPLY = "Well.\ngrade " + "a" * 24 + " = 8"


def test_reply_comes_with_its_tokens_and_its_price(server: JudgeServer, make_host: MakeHost) -> None:
    answer, spent = ask(make_host(), REQUEST)
    assert answer.reply is not None
    assert (REPLY, 1000, 100) == (answer.reply.text, answer.reply.prompt_tokens, answer.reply.completion_tokens)
    assert pytest.approx(0.002) == answer.reply.cost_usd == spent.cost_usd
    assert (1, 0) == (spent.num_calls, spent.num_cached)
    (body,) = server.bodies
    assert ("large@1", 64, 0.5, 3) == tuple(body[name] for name in ("model", "max_tokens", "temperature", "seed"))
    assert [("system", "user")] == [tuple(message["role"] for message in body["messages"])]


@pytest.mark.parametrize("trouble", ["500", "429", "cut"])
def test_trouble_that_passes_is_waited_out(server: JudgeServer, make_host: MakeHost, trouble: str) -> None:
    server.trouble = [trouble] * 4
    answer, spent = ask(make_host(), REQUEST)
    assert answer.reply is not None and REPLY == answer.reply.text
    assert 5 == len(server.bodies)
    assert spent.queue_s > 0.0


@pytest.mark.parametrize(
    "trouble", ["garbage", "empty", "gzip", 'body:{"a":' + "[" * 100_000], ids=lambda name: name[:6]
)
def test_garbled_reply_is_asked_for_again_a_few_times(server: JudgeServer, make_host: MakeHost, trouble: str) -> None:
    host = make_host()
    server.trouble = [trouble] * 2
    assert ask(host, REQUEST)[0].reply is not None
    server.trouble = [trouble + "!"]
    server.bodies.clear()
    answer, _ = ask(host, msgspec.structs.replace(REQUEST, seed=4))
    assert (None, "error", 3) == (answer.reply, answer.failure, len(server.bodies))


def test_reply_without_end_is_not_read_to_its_end(server: JudgeServer, make_host: MakeHost) -> None:
    server.trouble = ["huge!"]
    host = make_host(retries=0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer, _ = ask(host, REQUEST)
    assert "error" == answer.failure and "got more than 4 MiB" in answer.error
    # The server in this process holds the 50 MiB it sends; a judge that reads them holds as many again.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80 << 10


@pytest.mark.slow
def test_server_that_drips_is_an_outage(server: JudgeServer, make_host: MakeHost) -> None:
    server.trouble = ["drip!"]
    answer, _ = ask(make_host(timeout_s=0.2, patience_s=0.2), REQUEST)
    assert "outage" == answer.failure and "must answer within 0.2 s" in answer.error


def test_redirect_is_followed_nowhere(
    server: JudgeServer, make_host: MakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_JUDGE_KEY", "sk-very-secret")
    with JudgeServer() as other:
        server.trouble = [f"away:{other.url}/chat/completions"]
        answer, _ = ask(make_host(options={"api_key_env": "TEST_JUDGE_KEY"}), REQUEST)
        assert ("refused", []) == (answer.failure, other.keys)
        assert "HTTP 307 without a word" in answer.error


def test_server_that_asks_to_wait_for_no_time_is_not_stormed(server: JudgeServer, make_host: MakeHost) -> None:
    server.trouble = ["429:0!"]
    answer, _ = ask(make_host(patience_s=0.6, backoff_s=0.4, max_backoff_s=0.4), REQUEST)
    assert "outage" == answer.failure
    assert len(server.bodies) < 8


@pytest.mark.parametrize("count", [-5, None])
def test_odd_count_of_tokens_is_none_and_pays_nothing_back(
    server: JudgeServer, make_host: MakeHost, count: int | None
) -> None:
    server.trouble = ["body:" + json.dumps(says("Well.", prompt_tokens=count))]
    answer, spent = ask(make_host(), REQUEST)
    assert answer.reply is not None
    assert (0, 0.0) == (answer.reply.prompt_tokens, spent.cost_usd)


@pytest.mark.parametrize(
    "reply", ["text", JudgeReply("text", cost_usd=float("nan")), JudgeReply("text", cost_usd=-1.0), None]
)
def test_judge_of_a_package_that_returns_no_reply_spends_nothing(reply: object) -> None:
    class Odd:
        identity = "odd"

        async def ask(self, request: JudgeRequest) -> object:
            return reply

        async def close(self) -> None:
            """Nothing."""

    host = host_.JudgeHost(Odd, patience=host_.Patience(retries=0))  # type: ignore[arg-type]
    try:
        answer, spent = ask(host, REQUEST)
    finally:
        host.close()
    assert ("error", 0.0) == (answer.failure, spent.cost_usd)


def test_model_that_only_refuses_is_complained_of_once(server: JudgeServer, make_host: MakeHost) -> None:
    host = make_host()
    server.trouble = ["401!"]
    for sample in range(host_._MAX_REFUSED):
        host.require_taken()
        ask(host, msgspec.structs.replace(REQUEST, sample=sample))
    with pytest.raises(
        JudgeRefused, match=r"must not refuse 20 questions in a row, got .*HTTP 401 no.* - at model large@1"
    ):
        host.require_taken()
    host.require_taken()


def test_reply_between_refusals_forgives_them(server: JudgeServer, make_host: MakeHost) -> None:
    host = make_host()
    refused = ["400"] * (host_._MAX_REFUSED - 1)
    for trouble in (refused, [], refused):
        server.trouble = list(trouble)
        for sample in range(max(1, len(trouble))):
            ask(host, msgspec.structs.replace(REQUEST, sample=sample))
    host.require_taken()


@pytest.mark.parametrize("trouble", ["401", "400"])
def test_refusal_is_never_asked_again(server: JudgeServer, make_host: MakeHost, trouble: str) -> None:
    server.trouble = [trouble + "!"]
    answer, _ = ask(make_host(), REQUEST)
    assert ("refused", 1) == (answer.failure, len(server.bodies))
    assert f"HTTP {trouble}" in answer.error


@pytest.mark.slow
def test_retry_after_is_honoured(server: JudgeServer, make_host: MakeHost) -> None:
    server.trouble = ["429:0.3"]
    started_s = time.monotonic()
    answer, spent = ask(make_host(), REQUEST)
    assert answer.reply is not None
    assert time.monotonic() - started_s >= 0.3
    assert spent.queue_s >= 0.3


def test_judge_that_asks_for_more_than_the_patience_is_given_up_at_once(
    server: JudgeServer, make_host: MakeHost
) -> None:
    server.trouble = ["429:3600!"]
    answer, _ = ask(make_host(), REQUEST)
    assert ("outage", 1) == (answer.failure, len(server.bodies))
    assert "a judge must come back within 5 s" in answer.error


def test_outage_beyond_patience_ends_with_its_last_reason(server: JudgeServer, make_host: MakeHost) -> None:
    server.trouble = ["500!"]
    answer, spent = ask(make_host(patience_s=0.2), REQUEST)
    assert ("outage", None) == (answer.failure, answer.reply)
    assert "a judge must come back within 0.2 s" in answer.error and "HTTP 500 no" in answer.error
    assert server.bodies
    assert 0 == spent.num_calls


@pytest.mark.slow
def test_server_that_hangs_is_an_outage(server: JudgeServer, make_host: MakeHost) -> None:
    server.trouble = ["hang"]
    assert ask(make_host(timeout_s=0.1), REQUEST)[0].reply is not None
    server.trouble = ["hang!"]
    answer, _ = ask(make_host(timeout_s=0.1, patience_s=0.2), REQUEST)
    assert "must answer within 0.1 s" in answer.error


def test_no_server_at_all_is_an_outage(make_host: MakeHost) -> None:
    host = make_host(options={"base_url": "http://127.0.0.1:9/v1"}, patience_s=0.05)
    answer, _ = ask(host, REQUEST)
    assert "outage" == answer.failure
    assert "a judge must be reachable" in answer.error


def test_no_more_questions_are_out_than_allowed() -> None:
    gate = asyncio.Event()

    class Counting:
        identity = "counting"
        num_open = most_open = 0

        async def ask(self, request: JudgeRequest) -> JudgeReply:
            self.num_open += 1
            self.most_open = max(self.most_open, self.num_open)
            await gate.wait()
            self.num_open -= 1
            return JudgeReply("Well.")

        async def close(self) -> None:
            """Nothing."""

    judge = Counting()
    host = host_.JudgeHost(lambda: judge, patience=host_.Patience(concurrency=2))
    for job in range(8):
        host.ask(job, 1, msgspec.structs.replace(REQUEST, sample=job))
    for _ in range(3):
        host.end(99, should_keep=False)  # comes back once all that was asked before it has begun
    assert 2 == judge.num_open
    host._loop.call_soon_threadsafe(gate.set)
    collect(host, 8)
    assert (2, 0) == (judge.most_open, judge.num_open)
    host.close()


def test_question_that_pauses_holds_no_place(server: JudgeServer, make_host: MakeHost) -> None:
    host = make_host(concurrency=1, patience_s=600.0)
    server.trouble = ["429:300"]
    host.ask(1, 1, REQUEST)
    assert server.has_come.wait(5.0)
    host.ask(2, 1, msgspec.structs.replace(REQUEST, sample=1))
    assert [2] == list(collect(host, 1, within_s=3.0))


def test_return_of_a_judge_wakes_those_that_wait_for_it(server: JudgeServer, make_host: MakeHost) -> None:
    host = make_host(patience_s=6000.0, backoff_s=600.0, max_backoff_s=600.0)
    server.trouble = ["500"] * 3
    for job in range(3):
        host.ask(job, 1, msgspec.structs.replace(REQUEST, sample=job))
    while server.trouble:
        assert server.has_come.wait(5.0)
    assert ask(host, msgspec.structs.replace(REQUEST, sample=9), 9)[0].reply is not None
    assert {0, 1, 2} == set(collect(host, 3, within_s=5.0))


def test_judge_that_refuses_is_back(server: JudgeServer, make_host: MakeHost) -> None:
    host = make_host(patience_s=6000.0, backoff_s=600.0, max_backoff_s=600.0)
    server.trouble = ["500", "400"]
    host.ask(1, 1, REQUEST)
    while host._away_since_s is None:
        assert server.has_come.wait(5.0)
    host.ask(2, 1, msgspec.structs.replace(REQUEST, sample=1))
    found = collect(host, 2, within_s=5.0)
    assert found[1].reply is not None and "refused" == found[2].failure


def test_job_that_ended_gets_no_answer(server: JudgeServer, make_host: MakeHost) -> None:
    host = make_host()
    server.trouble = ["hang"]
    host.ask(1, 1, REQUEST)
    assert server.has_come.wait(5.0)
    assert 0.0 == host.end(1, should_keep=False).cost_usd
    assert [2] == list({2: ask(host, REQUEST, 2)})
    assert [] == host.answers()


def test_equal_question_is_paid_for_once(server: JudgeServer, make_host: MakeHost, tmp_path: Path) -> None:
    cache = tmp_path / "judge.sqlite"
    first, _ = ask(make_host(cache), REQUEST)
    again, spent = ask(make_host(cache), REQUEST)
    assert first.reply == again.reply
    assert (1, 1, 1, 0.0) == (len(server.bodies), spent.num_calls, spent.num_cached, spent.cost_usd)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "large@2"},
        {"messages": (REQUEST.messages[0], ("user", "How bad?"))},
        {"temperature": 0.6},
        {"max_tokens": 65},
        {"seed": 4},
        {"sample": 1},
        {"attempt": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_other_question_never_gets_a_kept_reply(server: JudgeServer, make_host: MakeHost, change: dict) -> None:
    host = make_host()
    ask(host, REQUEST)
    _, spent = ask(host, msgspec.structs.replace(REQUEST, **change))
    assert (2, 0) == (len(server.bodies), spent.num_cached)


def test_other_verifier_or_address_never_gets_a_kept_reply(
    server: JudgeServer, make_host: MakeHost, tmp_path: Path
) -> None:
    host = make_host(tmp_path / "judge.sqlite")
    for job, (ref, version) in enumerate([("d:1:m:a", 1), ("d:1:m:a", 2), ("d:1:m:b", 1)]):
        host.ask(job, 1, REQUEST, ref, version)
        collect(host, 1)
        assert 0 == host.end(job, should_keep=True).num_cached
    with JudgeServer() as other:
        elsewhere = make_host(tmp_path / "judge.sqlite", options={"base_url": other.url})
        elsewhere.ask(1, 1, REQUEST, "d:1:m:a", 1)
        collect(elsewhere, 1)
        assert (0, 1) == (elsewhere.end(1, should_keep=True).num_cached, len(other.bodies))


def test_reply_that_nobody_could_read_is_not_kept(server: JudgeServer, make_host: MakeHost) -> None:
    host = make_host()
    ask(host, REQUEST, should_keep=False)
    assert 0 == ask(host, REQUEST)[1].num_cached
    assert 1 == ask(host, REQUEST)[1].num_cached


def test_cache_can_be_turned_off(server: JudgeServer, make_host: MakeHost, tmp_path: Path) -> None:
    host = make_host(tmp_path / "judge.sqlite", should_cache=False)
    assert 0 == ask(host, REQUEST)[1].num_cached + ask(host, REQUEST)[1].num_cached
    assert {"run": Bill(2, 0.004)} == read_bill(tmp_path / "judge.sqlite")


def test_reply_of_a_job_that_is_given_up_stays_on_the_bill(
    server: JudgeServer, make_host: MakeHost, tmp_path: Path
) -> None:
    host = make_host(tmp_path / "judge.sqlite")
    host.ask(1, 1, REQUEST)
    collect(host, 1)
    # As after kill -9: nobody ends the job, and another life asks again.
    _, spent = ask(make_host(tmp_path / "judge.sqlite"), REQUEST)
    assert 0 == spent.num_cached
    assert {"run": Bill(2, 0.004)} == read_bill(tmp_path / "judge.sqlite")


def test_key_is_sent_and_shown_to_nobody(
    server: JudgeServer, make_host: MakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_JUDGE_KEY", "sk-very-secret")
    server.trouble = ["echo"]
    answer, _ = ask(make_host(options={"api_key_env": "TEST_JUDGE_KEY"}), REQUEST)
    assert ["Bearer sk-very-secret"] == server.keys
    assert "wrong key Bearer ***" in answer.error
    assert "secret" not in answer.error


def test_key_that_a_server_writes_is_kept_nowhere(
    server: JudgeServer, make_host: MakeHost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # As a file ends, from which it came.
    monkeypatch.setenv("TEST_JUDGE_KEY", "sk-very-secret\n")
    server.trouble = ["repeat"]
    host = make_host(tmp_path / "judge.sqlite", options={"api_key_env": "TEST_JUDGE_KEY"})
    answer, _ = ask(host, REQUEST)
    assert answer.reply is not None
    assert ("Bearer ***", ["Bearer sk-very-secret"]) == (answer.reply.text, server.keys)
    assert [] == [path.name for path in tmp_path.iterdir() if b"very-secret" in path.read_bytes()]


def test_key_that_no_header_carries_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("sk-\nsecret", "sk-sécret"):
        monkeypatch.setenv("TEST_JUDGE_KEY", key)
        with pytest.raises(ConfigError, match="got a character in TEST_JUDGE_KEY that no header can carry") as caught:
            OpenAIJudge("http://host/v1", "TEST_JUDGE_KEY")
        assert "cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "a judge must have an address"),
        ({"base_url": "localhost:8000"}, "a judge must have an address"),
        ({"base_url": "http://host:99999/v1"}, "a judge must have an address"),
        ({"base_url": "https://me:pw@host/v1"}, "must hold no secret"),
        ({"base_url": "https://host/v1?key=1"}, "must hold no secret"),
        ({"base_url": "http://host/v1", "api_key_env": "NO_SUCH_KEY"}, "got no NO_SUCH_KEY"),
        ({"base_url": "http://host/v1", "prices": ["m 1"]}, "a price must be"),
        ({"base_url": "http://host/v1", "prices": ["m -1 1"]}, "a price must be"),
        ({"base_url": "http://host/v1", "prices": ["m free 1"]}, "a price must be"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(options: dict, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        OpenAIJudge(**options)


def test_host_that_closes_waits_for_nobody(server: JudgeServer, make_host: MakeHost) -> None:
    host = make_host(patience_s=600.0)
    server.trouble = ["429:300", "hang!"]
    for job in range(4):
        host.ask(job, 1, msgspec.structs.replace(REQUEST, sample=job))
    assert server.has_come.wait(5.0)
    started_s = time.monotonic()
    host.close()
    assert time.monotonic() - started_s < 10.0


def test_outage_that_lasts_is_told(server: JudgeServer, make_host: MakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_, "_TOLD_S", 0.0)
    host = make_host(patience_s=600.0)
    assert "" == host.trouble()
    server.trouble = ["500", "429:300"]
    host.ask(1, 1, REQUEST)
    while len(server.bodies) < 2 or "429" not in host.trouble():
        assert server.has_come.wait(5.0)
    told = r"the judge has been away for \d+ s: a judge must be ready, got HTTP 429 slow down"
    assert re.match(told, host.trouble())
    assert ask(host, msgspec.structs.replace(REQUEST, sample=1), 2)[0].reply is not None
    assert "" == host.trouble()
