"""A judge that is a real HTTP server, and hosts that ask it."""

import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from judge_server import JudgeServer, MakeHost

from assay.core.registry import Registry
from assay.runtime import builtin
from assay.runtime.judge.host import JudgeHost, Patience
from assay.runtime.judge.openai import OpenAIJudge

QUICK = Patience(concurrency=4, timeout_s=5.0, retries=2, patience_s=5.0, backoff_s=0.01, max_backoff_s=0.05)
PRICES = ["large@1 1.0 10"]


@pytest.fixture(scope="session")
def registry() -> Registry:
    """What Assay itself offers."""
    registry = Registry()
    registry.add(builtin, "assay-rl", version("assay-rl"))
    assert [] == registry.failures
    return registry


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as server:
        yield server


@pytest.fixture
def make_host(server: JudgeServer) -> Iterator[MakeHost]:
    """Make a host that asks the server."""
    hosts: list[JudgeHost] = []

    def make(cache: Path | None = None, should_cache: bool = True, **changed: Any) -> JudgeHost:
        options = {"base_url": server.url, "prices": PRICES, **changed.pop("options", {})}
        patience = Patience(**{**{f: getattr(QUICK, f) for f in QUICK.__struct_fields__}, **changed})
        host = JudgeHost(
            lambda: OpenAIJudge(**options), name="openai", patience=patience, cache=cache, should_cache=should_cache
        )
        hosts.append(host)
        return host

    yield make
    for host in hosts:
        host.close()
