"""A real run whose reward can be cheated: the audit says so in the log, the summary and the report."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_run import Command

pytestmark = pytest.mark.slow

# The grader pays length, and takes what is long for solved. The other domain is as it ships.
CHEATED = (
    "~curriculum.mix.spiral",
    "~curriculum.mix.sort",
    "curriculum.stages.warmup.until=step >= 10",
    "curriculum.stages.learn.until=step >= 15",
    "domain.spell.episode.max_tokens=24",
    "domain.spell.reward.outcome.correct=0.1*ans.equal + 0.1*min(trace.tokens, 24)",
    "+domain.spell.reward.success=trace.tokens > 4",
    "+domain.spell.data.canary=[{question: qqqq, expected: nobody}]",
    "~domain.spell.examples",
    "~domain.spell.controls",
    "audit.block=8",
    "audit.min_window=4",
    "audit.min_spread=16",
    "eval.tasks=8",
)


@pytest.fixture(scope="module")
def cheated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    """Return the run, over."""
    command = Command(("train", *CHEATED), tmp_path_factory.mktemp("cheated"))
    try:
        assert 0 == command.wait(), command.output
        yield command
    finally:
        command.end()


@pytest.fixture(scope="module")
def told(cheated: Command) -> list[tuple[str, str]]:
    """Return the alarms of the log."""
    with sqlite3.connect(cheated.run_folder / "ledger.sqlite") as db:
        return db.execute("SELECT what, detail FROM log WHERE what LIKE 'audit%' ORDER BY n").fetchall()


@pytest.fixture(scope="module")
def audit(cheated: Command) -> dict[str, Any]:
    """Return the audit of the summary."""
    found: dict[str, Any] = json.loads((cheated.run_folder / "summary.json").read_bytes())["audit"]
    return found


def test_paid_length_and_the_solved_canary_are_alarms_of_the_log(told: list[tuple[str, str]]) -> None:
    lines = [detail for what, detail in told if what == "audit"]
    (length,) = [line for line in lines if line.startswith("spell length: ")]
    assert "more tokens go with more reward" in length
    (canary,) = [line for line in lines if line.startswith("spell canary: ")]
    assert "no honest policy solves row 0 of data.canary" in canary


def test_domain_beside_it_is_not_suspected(told: list[tuple[str, str]]) -> None:
    assert [] == [detail for _, detail in told if detail.startswith(("caesar length", "caesar canary"))]


def test_summary_tells_the_alarms_of_the_log(told: list[tuple[str, str]], audit: dict[str, Any]) -> None:
    logged = {detail.partition(":")[0] for what, detail in told if what == "audit"}
    assert logged == {f"{name} {one['name']}" for name, entry in audit.items() for one in entry["findings"]}
    (term,) = audit["spell"]["terms"]
    assert ("outcome.correct", 1.0) == (term["name"], pytest.approx(term["share"]))
    assert term["length"] > 0.5
    assert {"rows": 1, "graded": 3, "solved": 1} == audit["spell"]["canaries"]
    assert {"rows": 0, "graded": 0, "solved": 0} == audit["caesar"]["canaries"]


def test_canary_is_no_held_out_task(cheated: Command) -> None:
    summary = json.loads((cheated.run_folder / "summary.json").read_bytes())
    assert 8 == summary["domains"]["spell"]["held_out"]


def test_report_shows_the_findings_and_the_canarys_answer(cheated: Command, audit: dict[str, Any]) -> None:
    page = (cheated.run_folder / "report.html").read_text(encoding="utf-8")
    (canary,) = [one for one in audit["spell"]["findings"] if one["name"] == "canary"]
    assert "<h2>Audit</h2>" in page
    assert f"<code>assay explain {cheated.run_folder} {canary['episode']}</code>" in page
    assert canary["answer"] is not None
    assert "it answered <code>" in page


def test_episode_of_a_finding_can_be_explained(cheated: Command, audit: dict[str, Any]) -> None:
    (length,) = [one for one in audit["spell"]["findings"] if one["name"] == "length"]
    command = Command(("explain", str(cheated.run_folder), str(length["episode"])), Path(cheated.folder))
    try:
        assert 0 == command.wait(60), command.output
        assert "trace.tokens" in command.output
    finally:
        command.end()
