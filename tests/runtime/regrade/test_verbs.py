"""`assay diff`, `assay regrade` and `assay explain` on a stored run, files and revisions."""

import json
import subprocess
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from world import DOMAIN, World

from assay.runtime.cli import main

pytestmark = pytest.mark.slow


class Ran(NamedTuple):
    """What a call of the command gave."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run the command in an empty folder, over the registry of the stored run."""
    monkeypatch.chdir(tmp_path)
    for verb in ("diff", "regrade", "explain"):
        monkeypatch.setattr(import_module(f"assay.runtime.cli.{verb}"), "installed", lambda: world.registry)

    def call(*words: str) -> Ran:
        status = main([*words, "--runs", str(world.folder.path.parent)])
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return call


def write(name: str, *replaced: tuple[str, str]) -> str:
    text = DOMAIN
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    Path(name).write_text(text)
    return name


REWARD = ("0.2*text.equal", "0.3*text.equal")
PROMPT = ('prompt: "{q}"', 'prompt: "Say {q}"')
LOOSER = ("if: num.parsed", "if: num.parsed or trace.tokens > 4")


def test_files_are_compared_with_the_reason(run: Run) -> None:
    ran = run("diff", write("a.yaml"), write("b.yaml", REWARD))
    assert (0, "") == (ran.status, ran.err)
    assert "REDUCE  edit.me\n  REDUCE  reward.outcome.exact  0.2*text.equal -> 0.3*text.equal\n" == ran.out


def test_file_that_differs_in_nothing_is_reused(run: Run) -> None:
    assert "REUSE  edit.me  nothing differs\n" == run("diff", write("a.yaml"), write("b.yaml")).out


def test_revision_of_git_is_read_from_the_folder_it_is_named_in(run: Run, tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q"], check=True)
    (tmp_path / "sub").mkdir()
    write("sub/d.yaml")
    subprocess.run(["git", "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "one"], check=True)
    write("sub/d.yaml", PROMPT)
    ran = run("diff", "HEAD:sub/d.yaml", "sub/d.yaml", "--format", "json")
    assert ["RERUN"] == [one["effect"] for one in ran.json["domains"]]
    assert ["prompt"] == [reason["part"] for reason in ran.json["domains"][0]["reasons"]]


@pytest.mark.parametrize(
    ("edit", "counts"),
    [
        (REWARD, {"REUSE": 0, "REDUCE": 15, "REGRADE": 1, "RERUN": 0, "without_verdict": 1}),
        (LOOSER, {"REUSE": 0, "REDUCE": 13, "REGRADE": 3, "RERUN": 0, "without_verdict": 1}),
        (PROMPT, {"REUSE": 0, "REDUCE": 0, "REGRADE": 0, "RERUN": 16, "without_verdict": 1}),
    ],
)
def test_stored_episodes_of_a_run_are_counted(run: Run, edit: tuple[str, str], counts: dict[str, int]) -> None:
    for sides in (("stored", write("b.yaml", edit)), ("stored:edit", "b.yaml"), ("b.yaml", "stored")):
        ran = run("diff", *sides, "--format", "json")
        assert [counts] == [one["episodes"] for one in ran.json["domains"]], sides


@pytest.mark.parametrize(
    ("sides", "word"),
    [
        (("nowhere.yaml", "b.yaml"), "must be readable, got no such file - at nowhere.yaml"),
        (("stored:edti", "b.yaml"), "There are edit"),
        (("nobody:b.yaml", "b.yaml"), "a revision of git"),
    ],
)
def test_side_that_names_nothing_is_refused(run: Run, sides: tuple[str, str], word: str) -> None:
    write("b.yaml")
    ran = run("diff", *sides)
    assert 1 == ran.status
    assert word in ran.err


def test_side_that_does_not_compile_shows_its_findings(run: Run) -> None:
    ran = run("diff", write("a.yaml"), write("b.yaml", ("0.2*text.equal", "0.2*text.eqal")))
    assert (1, "") == (ran.status, ran.out)
    assert "RX001" in ran.err


def test_override_on_the_runs_own_declaration_is_regraded(run: Run, world: World) -> None:
    ran = run("regrade", "stored", "domain.edit.reward.outcome.exact=0.3*text.equal", "--format", "json")
    assert 0 == ran.status, ran.err
    found = ran.json["entries"]["edit"]
    assert {"REDUCE": 15, "REGRADE": 1} == {k: v for k, v in found["episodes"].items() if v and k.startswith("RE")}
    assert 5 == found["shift"]["changed"]
    assert Path(ran.json["kept"]).parent == world.folder.path / "regrades"


def test_file_and_override_edit_one_entry_together(run: Run) -> None:
    ran = run(
        "regrade", "stored", "--domain", f"edit={write('b.yaml', REWARD)}", "domain.edit.params.wrong=-3", "--dry-run"
    )
    assert 0 == ran.status, ran.err
    assert "reward.gate.number.else  param wrong -1.0 -> -3" in ran.out
    assert "reward.outcome.exact" in ran.out
    assert "nothing kept" in ran.out


def test_nothing_edited_reuses_every_verdict(run: Run) -> None:
    ran = run("regrade", "stored", "--dry-run")
    assert 0 == ran.status, ran.err
    assert "16 stored episodes: 16 REUSE; 1 without a verdict" in ran.out
    assert "0 rewards changed" in ran.out


def test_ranks_and_signs_that_change_are_shown(run: Run) -> None:
    ran = run(
        "regrade",
        "stored",
        "domain.edit.reward.process.long=-0.2*min(trace.tokens, 20)",
        "domain.edit.params.wrong=-5",
        "--dry-run",
        "--format",
        "json",
    )
    assert 0 == ran.status, ran.err
    shift = ran.json["entries"]["edit"]["shift"]
    assert 4 == shift["groups"]
    assert shift["pairs_swapped"] > 0
    assert shift["num_flips"] == len(shift["flips"]) > 0
    first = shift["flips"][0]
    assert first["before"] * first["after"] < 0


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (("domain.edti.params.wrong=4",), "an entry must be one of the run's, got edti. did you mean"),
        (("--domain", "edit"), "must be ENTRY=FILE"),
        (("curriculum.mix.edit.share=2",), "must edit a domain"),
        (("domain.edit.params.wrogn=4",), "CF001"),
        (("--domain", "edit=missing.yaml"), "a domain file must be readable"),
        (("--sandbox", "dokcer", "--dry-run"), "unknown sandbox `dokcer`"),
    ],
)
def test_edit_that_cannot_be_meant_is_refused(run: Run, words: tuple[str, ...], word: str) -> None:
    ran = run("regrade", "stored", *words)
    assert 1 == ran.status
    assert word.lower() in ran.err.lower()


def test_episode_is_explained_from_signals_to_siblings(run: Run) -> None:
    ran = run("explain", "stored", "1", "--format", "json")
    assert 0 == ran.status, ran.err
    found = ran.json
    assert ["outcome.correct", "outcome.exact", "process.long"] == [one["name"] for one in found["terms"]]
    assert found["reward"] == found["terms"][-1]["total"] == pytest.approx(1.0 - 0.08)
    assert [{"name": "number", "condition": "num.parsed", "state": "open", "pays": None}] == found["gates"]
    assert [1.5, 0.5, -0.5, -1.5] == [one["advantage"] for one in found["siblings"]]
    moves = [one["text"] for one in found["counterfactuals"]]
    assert "0.2 higher had text.equal been true" in moves
    assert "1 lower had num.equal been false" in moves
    # A sibling that was shorter reached what this one could have had.
    assert (
        "0.05 higher had it said the same in 3 tokens" in moves
        or "0.07 higher had it said the same in 1 token" in moves
    )


def test_closed_gate_hides_what_was_never_measured(run: Run) -> None:
    found = run("explain", "stored", "3", "--format", "json").json
    assert ([], -1.0) == (found["terms"], found["reward"])
    assert [("closed", -1.0)] == [(one["state"], one["pays"]) for one in found["gates"]]
    (move,) = found["counterfactuals"]
    assert "not known had num.parsed been true: text was not measured" == move["text"]


def test_unscored_episode_says_why_and_has_no_counterfactual(run: Run) -> None:
    ran = run("explain", "stored", "9")
    assert "no reward  sandbox_lost in `text`: the box is gone" in ran.out
    assert "would have been" not in ran.out


def test_episode_that_was_never_planned_is_refused(run: Run) -> None:
    ran = run("explain", "stored", "4711")
    assert 1 == ran.status
    assert "an episode must be one of the run's" in ran.err


def test_term_of_a_run_is_explained_like_that_of_a_file(run: Run) -> None:
    stored = run("explain", "stored:edit", "correct", "--format", "json").json
    assert stored == run("explain", write("a.yaml"), "outcome.correct", "--format", "json").json
    assert ("[0, 2]", ["num.parsed"]) == (stored["range"], stored["under"])
    assert ["weight", "solve", "num.equal"] == [one["name"] for one in stored["origins"]]
    signal = stored["origins"][2]
    assert ("rises with", "up") == (signal["direction"], signal["better"])
    assert signal["source"].startswith("number.equal(expected=expected, abs=tol = 0.5) v1 of assay-rl ")
    assert "= 1.0" == stored["origins"][1]["source"]


def test_gate_and_success_are_explained(run: Run) -> None:
    gate = run("explain", "stored:edit", "gate.number").out
    assert "range      bool, pays wrong where closed" in gate
    assert "num.parsed" in run("explain", "stored:edit", "number").out
    assert "text.equal" in run("explain", "stored:edit", "success").out


def test_term_that_is_not_there_is_refused_with_the_nearest(run: Run) -> None:
    ran = run("explain", "stored:edit", "corect")
    assert 1 == ran.status
    assert "correct" in ran.err


def test_lost_episode_is_measured_without_an_edit_where_asked(run: Run, world: World) -> None:
    name = world.folder.path.name
    kept = run("regrade", name, "--dry-run", "--format", "json").json["entries"]["edit"]
    assert {"REUSE": 16, "without_verdict": 1} == {
        effect: number for effect, number in kept["episodes"].items() if number
    }
    tried = run("regrade", name, "--unscored", "--dry-run", "--format", "json").json["entries"]["edit"]
    assert {"REUSE": 15, "REGRADE": 1, "without_verdict": 1} == {
        effect: number for effect, number in tried["episodes"].items() if number
    }
    assert (1, 0) == (tried["shift"]["before"]["unscored"], tried["shift"]["after"]["unscored"])
