"""Who waits for whom among calls that share a process."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from assay.core.error import JudgeOutage
from assay.core.judge import JudgeReply, JudgeRequest
from assay.runtime.judge.host import JudgeHost, Patience

pytestmark = pytest.mark.slow

MakeBench = Callable[..., Any]


class Away:
    """A judge that is away until it is back."""

    identity = "away"

    def __init__(self, is_back: threading.Event) -> None:
        self.is_back = is_back

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        if not self.is_back.is_set():
            raise JudgeOutage("a judge must be there")
        return JudgeReply("yes")

    async def close(self) -> None:
        """Nothing."""


def test_calls_that_ask_no_judge_wait_for_none_that_is_away(make_bench: MakeBench) -> None:
    is_back = threading.Event()
    judges = JudgeHost(lambda: Away(is_back), patience=Patience(concurrency=1, backoff_s=0.01, max_backoff_s=0.05))
    bench = make_bench("ask", "sleep", mode="async", judges=judges, num_concurrent=2)
    asking = [bench.submit("ask", "Well?") for _ in range(12)]
    others = [bench.submit("sleep", "0.01") for _ in range(3)]
    assert set(others) == set(bench.collect(3, within_s=20.0))
    is_back.set()
    found = bench.collect(12, within_s=20.0)
    assert set(asking) == set(found)
    assert all(one.measurement is not None and one.measurement.signals["right"] for one in found.values())


def test_one_place_serves_hundreds_that_wait(make_bench: MakeBench) -> None:
    is_back = threading.Event()
    is_back.set()
    judges = JudgeHost(lambda: Away(is_back), patience=Patience(concurrency=1))
    bench = make_bench("ask", mode="async", judges=judges)
    wanted = {bench.submit("ask", f"Well {number}?") for number in range(300)}
    found = bench.collect(300, within_s=60.0)
    assert wanted == {job for job, one in found.items() if one.measurement is not None}
