"""A whole graph in one process whose graders ask a real server."""

import json
from pathlib import Path
from typing import get_args

import pytest
from judge_domain import DOMAIN, plan_of, settings
from judge_server import JudgeServer

from assay.core.error import GraderError
from assay.core.registry import Registry
from assay.dsl.change import Effect
from assay.runtime.cli import main
from assay.runtime.judge import host as host_
from assay.runtime.judge import open as open_
from assay.runtime.judge.account import judge_summary, judge_table, read_accounts
from assay.runtime.launch.inline import Inline, inline_folder
from assay.runtime.launch.stub import StubChat, StubEngine
from assay.runtime.observe.reading import Reading
from assay.runtime.preflight.golden import require_golden
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import read_plan, write_plan

pytestmark = pytest.mark.slow
EFFECTS = get_args(Effect)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return inline_folder(tmp_path / "run")


def play(registry: Registry, folder: RunFolder, judge: dict, text: str = DOMAIN) -> None:
    plan = plan_of(text, registry, judge)
    write_plan(folder.path, plan)
    finish = Inline(read_plan(folder.path), folder, StubEngine("hello"), StubChat(), should_validate=True).run(60.0)
    assert 0 == finish.code, finish.reason


def test_judged_episodes_are_played_graded_and_paid_for(
    server: JudgeServer, registry: Registry, folder: RunFolder
) -> None:
    play(registry, folder, settings(server.url))
    assert 3 == len(server.bodies)
    with Reading(folder.ledger) as reading:
        assert 3 == reading.counts().evaluated
    summary = judge_summary(read_plan(folder.path), folder.ledger)
    assert (3, pytest.approx(0.006)) == (summary["calls"], summary["cost_usd"])
    table = judge_table(summary)
    assert ("kind", "3", "0", "0.006", "0.002", "0.002") == table[1][:6]


def test_replies_of_checks_before_a_run_are_its_own_and_are_counted(
    server: JudgeServer, registry: Registry, folder: RunFolder
) -> None:
    plan = plan_of(DOMAIN + 'controls:\n  oracle: {answer: hello, reward: "> 0"}\n', registry, settings(server.url))
    require_golden(plan, registry, folder.judge)
    assert 2 == len(server.bodies)
    play(registry, folder, settings(server.url))
    assert 3 == len(server.bodies)
    summary = judge_summary(plan, folder.ledger, folder.judge)
    assert ({"calls": 2, "cost_usd": 0.004}, 0.0) == (summary["preflight"], summary["lost_usd"])
    assert pytest.approx(0.006) == summary["cost_usd"]
    assert ("before the run", "2", "-", "0.004", "-", "-", "-") == judge_table(summary)[-1]


def test_explanation_of_an_episode_says_what_its_judge_took(
    server: JudgeServer, registry: Registry, folder: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    play(registry, folder, settings(server.url))
    assert 0 == main(["explain", str(folder.path), "1"])
    assert "\n  judge      quality: 1 call, 0 cached, 0.002 USD" in capsys.readouterr().out


def test_outage_in_a_run_makes_episodes_wait_and_loses_none(
    server: JudgeServer, registry: Registry, folder: RunFolder
) -> None:
    server.trouble = ["500"] * 5
    play(registry, folder, settings(server.url))
    with Reading(folder.ledger) as reading:
        assert (3, {}) == (reading.counts().evaluated, reading.unscored())
    assert read_accounts(folder.ledger, ["kind"])["kind"].queue_s > 0.0


def test_outage_beyond_patience_leaves_no_reward_in_the_ledger(
    server: JudgeServer, registry: Registry, folder: RunFolder
) -> None:
    server.trouble = ["500!"]
    play(registry, folder, settings(server.url, patience_s=0.2))
    with Reading(folder.ledger) as reading:
        assert {"judge_error": 3} == reading.unscored()
        accuracies = reading.accuracies()
    assert [(0, 0)] == [(one["kind"].solved, one["kind"].scored) for one in accuracies.values()]


def test_judge_that_refuses_everything_stops_the_run_and_says_why(
    server: JudgeServer, registry: Registry, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_, "_MAX_REFUSED", 2)
    server.trouble = ["401!"]
    plan = plan_of(DOMAIN, registry, settings(server.url, concurrency=1))
    write_plan(folder.path, plan)
    finish = Inline(read_plan(folder.path), folder, StubEngine("hello"), StubChat(), should_validate=True).run(60.0)
    assert 1 == finish.code
    assert "a judge must not refuse 2 questions in a row" in finish.reason and "HTTP 401 no" in finish.reason


def test_key_of_a_judge_is_nowhere_in_the_run_folder(
    server: JudgeServer, registry: Registry, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_JUDGE_KEY", "sk-very-secret")
    server.trouble = ["echo"]
    play(registry, folder, settings(server.url, options={"api_key_env": "TEST_JUDGE_KEY"}))
    assert {"Bearer sk-very-secret"} == set(server.keys)
    files = [path for path in folder.path.rglob("*") if path.is_file()]
    assert folder.judge in files and folder.ledger in files
    assert [] == [path.name for path in files if b"very-secret" in path.read_bytes()]


def test_regrade_asks_the_judge_of_the_run_and_pays_for_no_reply_twice(
    server: JudgeServer, registry: Registry, folder: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play(registry, folder, settings(server.url))
    path = tmp_path / "edited.yaml"

    def regrade(text: str, *words: str) -> tuple[int, int]:
        server.bodies.clear()
        path.write_text(text)
        status = main(["regrade", str(folder.path), "--domain", f"kind={path}", *words])
        return status, len(server.bodies)

    assert (0, 0) == regrade(DOMAIN.replace("1.0*quality", "0.5*quality"))
    assert (0, 3) == regrade(DOMAIN.replace("Is it kind?", "Is it rude?"))
    assert (0, 0) == regrade(DOMAIN.replace("Is it kind?", "Is it rude?"))
    with JudgeServer() as other:
        words = ("judge=openai", f"judge.base_url={other.url}")
        assert (0, 0) == regrade(DOMAIN.replace("Is it kind?", "Is it rude?"), *words)
        assert 3 == len(other.bodies)


def test_another_judge_is_a_regrade_even_where_nothing_else_has_changed(
    server: JudgeServer, registry: Registry, folder: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play(registry, folder, settings(server.url))
    path = tmp_path / "kind.yaml"
    path.write_text(DOMAIN)

    def effects(*words: str) -> dict[str, int]:
        capsys.readouterr()
        assert 0 == main(["regrade", str(folder.path), "--domain", f"kind={path}", "--format", "json", *words])
        return json.loads(capsys.readouterr().out)["entries"]["kind"]["episodes"]

    server.bodies.clear()
    same = ("judge=openai", f"judge.base_url={server.url}", "judge.retries=7", "judge.prices=[]")
    assert {"REUSE": 3} == {name: number for name, number in effects(*same).items() if number and name in EFFECTS}
    assert [] == server.bodies
    with JudgeServer() as other:
        words = ("judge=openai", f"judge.base_url={other.url}")
        assert {"REGRADE": 3} == {
            name: number for name, number in effects(*words).items() if number and name in EFFECTS
        }
        assert 3 == len(other.bodies)


@pytest.mark.parametrize(
    ("changed", "is_same"),
    [
        ({}, True),
        ({"patience_s": 1.0, "options": {"prices": []}}, True),
        ({"options": {"base_url": "http://127.0.0.1:1/v1"}}, False),
        ({"options": {"api_key_env": "NO_SUCH_KEY"}}, False),
        ({"name": "none", "options": {}}, True),
    ],
)
def test_judge_is_the_same_by_its_name_and_what_it_says_of_itself(
    registry: Registry, changed: dict, is_same: bool
) -> None:
    url = "http://127.0.0.1:2/v1"
    assert is_same == open_.is_same_judge(settings(url), settings(url, **changed), registry)


def test_run_of_a_judge_that_is_away_does_not_start(
    server: JudgeServer, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_, "_PREFLIGHT_S", 0.2)
    server.trouble = ["500!"]
    plan = plan_of(DOMAIN + 'controls:\n  oracle: {answer: long, reward: "> 0"}\n', registry, settings(server.url))
    with pytest.raises(GraderError, match=r"control `oracle` on eval\[0\]: must be scored, got judge_error"):
        require_golden(plan, registry)
