"""`assay review` as people and scripts use it: pipes, a terminal, two at once, killed, and while a run goes on."""

import json
import os
import pty
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "regrade"))

from assay.core.error import AssayError
from assay.core.verdict import Scored
from assay.dsl.compile import compile_bytes
from assay.runtime.cli import main
from assay.runtime.cli.try_ import try_plan
from assay.runtime.coordinator.instruction import Finish
from assay.runtime.launch.inline import Inline, inline_folder
from assay.runtime.launch.stub import StubChat, StubEngine
from assay.runtime.observe.reading import Reading
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.review.desk import PeopleDesk
from assay.runtime.review.sample import is_for_two
from assay.runtime.review.store import Mark, ReviewStore
from assay.runtime.run.build import build_entry
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import write_plan

pytestmark = pytest.mark.slow

PROMPT = "[y/n, s u o m ? q] "


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    world = import_module("world").World(tmp_path_factory.mktemp("reviewed") / "stored")
    yield world
    world.host.close()


@pytest.fixture
def folder(world: Any, tmp_path: Path) -> Path:
    path = tmp_path / "runs" / "stored"
    shutil.copytree(world.folder.path, path)
    return path


def command(run: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "assay", "review", str(run), *words]


def review(run: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run the real command over pipes."""
    return subprocess.run(command(run, *words), input=given, capture_output=True, text=True, timeout=60, check=False)


def told(capsys: pytest.CaptureFixture[str], run: Path, *words: str) -> tuple[int, str, str]:
    """Run the command in this process, where it asks nothing; returns status, output and complaints."""
    capsys.readouterr()
    status = main(["review", str(run), *words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def mark_all(run: Path, value: float = 1.0, *reviewers: str) -> None:
    """Mark every episode that has a score, as if a sample had shown it."""
    with StoredRun(RunFolder(run)) as stored, ReviewStore(run) as store:
        for row in stored.graded("edit"):
            for who in reviewers or ("ann",):
                if isinstance(row.verdict, Scored):
                    store.keep(Mark(0, who, row.episode, "success", value, "sample"))


def marks(run: Path) -> list[Mark]:
    with ReviewStore(run) as store:
        return store.marks(with_passed=True)


def test_marks_are_given_over_a_pipe_and_the_next_sitting_goes_on(folder: Path) -> None:
    ran = review(folder, "--as", "ann", given="y\nN\nyes\n0\nu\n1\no looks odd\nn\ns\nwhat\nq\n")
    assert (0, "") == (ran.returncode, ran.stderr)
    # The fourth was undone and marked again; the sixth passed over; the last word was no answer.
    assert [1.0, 0.0, 1.0, 1.0, 0.0, None] == [one.value for one in marks(folder)]
    assert ["", "", "", "", "looks odd", ""] == [one.note for one in marks(folder)]
    assert 6 == len({one.episode for one in marks(folder)})
    assert "pass this one over" in ran.stdout
    assert ran.stdout.endswith(f"6 marks kept in {folder / 'review.sqlite'}, 1 passed over\n")
    ran = review(folder, "--as", "ann", given="y\n" * 100)
    assert "reviewer ann, 5 marks before" in ran.stdout
    assert "nothing is left to look at" in ran.stdout
    # Fifteen have a score; none is asked twice.
    assert 15 == len(marks(folder)) == len({one.episode for one in marks(folder)})
    assert "nothing is left to look at" in review(folder, "--as", "ann", given="y\n").stdout


def test_nothing_that_is_shown_says_how_it_was_graded(folder: Path) -> None:
    shown = review(folder, "--as", "ann", "--disputes", "20", given="m\ny\n" * 100).stdout
    assert 15 == shown.count("domain edit")
    for word in ("reward", "verdict", "success", "signal", "sample", "dispute", "equal", "parsed", "episode", "1.17",
                 "-0.03", "outcome", "gate", "judge", "score"):  # fmt: skip
        assert word not in shown, word
    # What is shown is task, prompt, answer and question, in an order that is not the ledger's.
    assert {"task `q`", "task `expected`", "task `weight`", "user", "answer", "read as"} >= {
        line for line in shown.splitlines() if re.fullmatch(r"(task|user|answer|read|assistant|system).*", line)
    }
    order = [one.episode for one in marks(folder)]
    assert order != sorted(order)


def test_report_says_plainly_that_a_verifier_agrees_badly(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark_all(folder)
    status, out, _ = told(capsys, folder, "--report")
    # One success of fifteen, and people call all of them right.
    assert 1 == status
    assert "edit: `success` agrees badly with people: in 7% of the run (1% to 30%)." in out
    assert "people yes, success no, sample" in out
    found = json.loads(told(capsys, folder, "--report", "--format", "json")[1])
    assert (True, {"ann": 15}, "bad") == (found["is_bad"], found["marks"], found["comparisons"][0]["says"])
    assert 14 == found["comparisons"][0]["agreement"]["only_mark"] == len(found["comparisons"][0]["contradictions"])


def test_report_of_good_agreement_and_of_reviewers_ends_well(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with StoredRun(RunFolder(folder)) as stored, ReviewStore(folder) as store:
        for row in stored.graded("edit"):
            verdict = row.verdict
            if isinstance(verdict, Scored):
                for who in ("ann", "bob"):
                    store.keep(Mark(0, who, row.episode, "success", float(verdict.payout.success), "sample"))
    status, out, _ = told(capsys, folder, "--report")
    assert 0 == status
    assert "marks: ann 15, bob 15; 15 episodes of the sample" in out
    assert "reviewers with each other: 15 pairs, 100.0% (80% to 100%), kappa 1.00" in out
    assert "agrees badly" not in out


def test_rows_for_a_calibration_are_written(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark_all(folder)
    status, out, err = told(capsys, folder, "--export", str(tmp_path / "rows.jsonl"), "--verify", "text")
    assert (0, "") == (status, err)
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert f"{len(rows)} rows about text.equal" in out
    assert {True} == {row["expect"]["text.equal"] for row in rows}
    assert {"q", "expected", "weight"} == set(rows[0]["task"])
    assert len(rows) == len(told(capsys, folder, "--export", "-", "--verify", "text")[1].splitlines())
    status, _, err = told(capsys, folder, "--export", str(tmp_path / "rows.jsonl"), "--signal", "parsed")
    assert (1, True) == (status, "an export must go into a new file, got one that exists" in err)
    assert len(rows) == len((tmp_path / "rows.jsonl").read_text().splitlines())


def test_export_of_nothing_writes_nothing(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ReviewStore(folder) as store:
        store.keep(Mark(0, "ann", 1, "num.equal", 1.0, "sample"))
    status, _, err = told(capsys, folder, "--export", str(tmp_path / "rows.jsonl"), "--verify", "text")
    assert (1, True) == (status, "an export must have rows, got none about text.equal" in err)
    assert not (tmp_path / "rows.jsonl").exists()


def test_export_that_cannot_be_written_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark_all(folder)
    status, _, err = told(capsys, folder, "--export", "/nowhere/rows.jsonl", "--verify", "text")
    assert (1, True) == (status, "a file must be writable, got No such file or directory" in err)


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (("--report",), "a run must have marks, got none"),
        (("--entry", "edti"), "did you mean"),
        (("--verify", "num"), "num.equal or num.parsed"),
        (("--signal", "nothing"), "There are num.equal, num.parsed, text.equal"),
        (("--as", "a\nb"), "printable characters"),
        (("--as", ""), "printable characters, got ''"),
        (("--export", "x"), "must name the signal"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_way_out(
    folder: Path, words: tuple[str, ...], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = told(capsys, folder, *words)
    assert 1 == status
    assert word in err


@pytest.mark.parametrize("words", [("--sample", "x"), ("--floor", "-1"), ("--twice", "nan"), ("--below", "much")])
def test_number_that_is_none_is_wrong_usage_in_plain_words(
    folder: Path, words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = told(capsys, folder, *words)
    assert 2 == status
    assert f"argument {words[0]}: must be a " in err
    assert f"got '{words[1]}'" in err


def test_closed_input_is_its_end(folder: Path) -> None:
    line = f"exec {' '.join(command(folder, '--as', 'ann'))} <&-"
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert (0, "") == (ran.returncode, ran.stderr)
    assert "0 marks kept" in ran.stdout


class Talk:
    """A real command over pipes that one speaks with line by line."""

    def __init__(self, run: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            command(run, *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0
        )
        assert self.process.stdout is not None and self.process.stdin is not None
        self._out, self._in = self.process.stdout, self.process.stdin
        self.shown = ""

    def until(self, text: str, seconds: float = 30.0) -> str:
        """Read until a text is shown; returns what came with it."""
        deadline, start = time.monotonic() + seconds, len(self.shown)
        while text not in self.shown[start:]:
            assert select.select([self._out], [], [], max(0.0, deadline - time.monotonic()))[0], self.shown
            data = os.read(self._out.fileno(), 65536)
            assert data, self.shown
            self.shown += data.decode()
        return self.shown[start:]

    def say(self, text: str) -> None:
        os.write(self._in.fileno(), f"{text}\n".encode())

    def end(self) -> int:
        """Close its input and wait for it; safe to call twice."""
        self._in.close()
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self._out.close()


Speak = Callable[..., Talk]


@pytest.fixture
def speak() -> Iterator[Speak]:
    """Begin talks, and end what a test leaves."""
    talks: list[Talk] = []

    def begin(run: Path, *words: str) -> Talk:
        talks.append(Talk(run, *words))
        return talks[-1]

    yield begin
    for talk in talks:
        talk.end()


def test_kill_loses_at_most_what_is_on_the_screen(folder: Path, speak: Speak) -> None:
    talk = speak(folder, "--as", "ann")
    shown = [talk.until(PROMPT)]
    for number in range(3):
        talk.say("y")
        shown.append(talk.until(PROMPT))
        assert number + 1 == len(marks(folder))
    talk.process.send_signal(signal.SIGKILL)
    talk.end()
    assert 3 == len(marks(folder))
    again = speak(folder, "--as", "ann")
    # The one that was on the screen comes first, under another number.
    assert shown[3].partition("task")[2].rstrip() == again.until(PROMPT).partition("task")[2].rstrip()
    again.say("q")
    assert 0 == again.end()


def test_interrupt_ends_with_what_was_kept(folder: Path, speak: Speak) -> None:
    talk = speak(folder, "--as", "ann")
    talk.until(PROMPT)
    talk.say("y")
    talk.until(PROMPT)
    talk.process.send_signal(signal.SIGINT)
    talk.until("1 mark kept in")
    assert 130 == talk.end()


def test_two_reviewers_at_once_share_the_work_and_both_see_what_is_for_two(folder: Path) -> None:
    words = ("--twice", "0.4", "--sample", "100")
    both = [
        subprocess.Popen(command(folder, "--as", who, *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for who in ("ann", "bob")
    ]
    for one in both:
        assert one.stdin is not None
        one.stdin.write("y\n" * 100)
        one.stdin.flush()
    shown = [one.communicate(timeout=60)[0] for one in both]
    assert [0, 0] == [one.returncode for one in both]
    assert all("nothing is left to look at" in text for text in shown)
    reviewers: dict[int, list[str]] = {}
    for one in marks(folder):
        reviewers.setdefault(one.episode, []).append(one.reviewer)
    assert 15 == len(reviewers)
    assert all(len(set(who)) == len(who) for who in reviewers.values())
    assert {episode for episode, who in reviewers.items() if len(who) == 2} == {
        episode for episode in reviewers if is_for_two(episode, 0, 0.4)
    }


def test_keys_are_enough_in_a_terminal(folder: Path) -> None:
    """A pseudo-terminal: single keys without Enter, an arrow key that is no answer, and the terminal as it was."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        command(folder, "--as", "ann"), stdin=side, stdout=side, stderr=side, start_new_session=True, close_fds=True
    )
    before = subprocess.run(["stty", "-a"], stdin=side, capture_output=True, text=True, check=True).stdout
    shown = ""

    def until(text: str, count: int = 1) -> None:
        nonlocal shown
        while shown.count(text) < count:
            assert select.select([main], [], [], 30.0)[0], shown
            shown += os.read(main, 65536).decode()

    until(PROMPT)
    os.write(main, b"y")
    until(PROMPT, 2)
    os.write(main, b"\x1b[A")
    until("pass this one over")
    until(PROMPT, 3)
    os.write(main, b"onot sure\n")
    until("note: ")
    until(PROMPT, 4)
    os.write(main, b"nq")
    until("2 marks kept")
    assert 0 == process.wait(30)
    assert before == subprocess.run(["stty", "-a"], stdin=side, capture_output=True, text=True, check=True).stdout
    os.close(side)
    os.close(main)
    assert [(1.0, ""), (0.0, "not sure")] == [(one.value, one.note) for one in marks(folder)]


KIND = """\
assay: 1
domain: demo.kind
version: 1
summary: Answers that people find kind.
fields: {q: str}
data:
  eval:
    - {q: "one"}
    - {q: "two"}
    - {q: "three"}
  train:
    - {q: "one"}
prompt: "{q}"
verify:
  person: human.mark("Is \\x1b[2Jit kind?", low=0, high=4)
reward:
  outcome:
    kind: person.mark
group: {size: 2, min_scored: 2}
"""


class Live:
    """A real inline run whose verdicts people give."""

    def __init__(self, world: Any, path: Path, answer: str = "\x1b[31mso kind\u202e") -> None:
        compiled = compile_bytes(KIND.encode().replace(b"\\x1b", b"\\\\x1b"), world.registry, "kind.yaml", Path("."))
        self.plan = try_plan(build_entry("kind", 1.0, compiled, world.registry), "stub", world.registry, tasks=3)
        self.folder = inline_folder(path)
        write_plan(self.folder.path, self.plan)
        self.answer = answer

    def start(self) -> Inline:
        people = PeopleDesk(self.folder.path)
        return Inline(self.plan, self.folder, StubEngine(self.answer), StubChat(), should_validate=True, people=people)

    def verdicts(self) -> dict[int, Any]:
        with StoredRun(self.folder) as stored:
            return {row.episode: row.verdict for row in stored.graded("kind")}


def test_run_takes_answers_while_it_goes_on(world: Any, tmp_path: Path, speak: Speak) -> None:
    live = Live(world, tmp_path / "live")
    inline = live.start()
    talk = speak(live.folder.path, "--as", "ann", "--only", "questions", "--wait")
    for value in ("4", "9", "1", "0"):
        talk.say(value)
    assert Finish(0, "finished") == inline.run(60.0)
    talk.until("nothing is left to look at")
    assert 0 == talk.end()
    found = live.verdicts()
    assert [0.0, 0.25, 1.0] == sorted(verdict.measurements["person"].signals["mark"] for verdict in found.values())
    assert [0.0, 0.25, 1.0] == sorted(verdict.payout.reward for verdict in found.values())
    # 9 is not on the scale, and what the policy and the domain wrote does nothing to the terminal.
    assert "[0 to 4, s u o m ? q]" in talk.shown and "  y n      yes or no" in talk.shown
    assert "\\u{1b}[31mso kind\\u{202e}" in talk.shown
    assert "\x1b" not in talk.shown and "\u202e" not in talk.shown
    with Reading(live.folder.ledger) as reading:
        assert {} == reading.unscored()


def test_run_that_ended_before_the_answers_finds_them_when_it_goes_on(world: Any, tmp_path: Path) -> None:
    live = Live(world, tmp_path / "live")
    with pytest.raises(AssayError, match="must be over within"):
        live.start().run(1.0)
    assert {} == live.verdicts()
    ran = review(live.folder.path, "--as", "ann", given="4\n4\n4\n4\n")
    assert 3 == sum(one.value == 1.0 for one in marks(live.folder.path)), ran.stdout
    started = time.monotonic()
    assert Finish(0, "finished") == live.start().run(60.0)
    assert time.monotonic() - started < 10.0
    assert [1.0, 1.0, 1.0] == [verdict.payout.reward for verdict in live.verdicts().values()]
    with ReviewStore(live.folder.path) as store:
        assert 3 == len(store.questions())


def test_answer_undone_after_the_run_took_it_leaves_the_ledger(world: Any, tmp_path: Path, speak: Speak) -> None:
    live = Live(world, tmp_path / "live")
    inline = live.start()
    talk = speak(live.folder.path, "--as", "ann", "--only", "questions", "--wait")
    for _ in range(3):
        talk.say("4")
    inline.run(60.0)
    talk.until("nothing is left")
    talk.end()
    before = live.verdicts()
    ran = review(live.folder.path, "--as", "ann", given="u\n0\nq\n")
    assert "the run has taken that answer already: its verdict stays" in ran.stdout
    assert before == live.verdicts()
    assert [0.0, 1.0, 1.0] == sorted(one.value or 0.0 for one in marks(live.folder.path) if one.value is not None)


def test_siblings_with_one_answer_and_two_verdicts_are_shown_beside_the_sample(folder: Path) -> None:
    # Episodes 8 and 9 both said `=7`; let 9 have been scored otherwise.
    with sqlite3.connect(folder / "ledger.sqlite") as db:
        db.execute(
            "UPDATE verdict SET success = 1, "
            "(reward, verdict) = (SELECT reward, verdict FROM verdict WHERE episode = 8) WHERE episode = 9"
        )
    db.close()
    ran = review(folder, "--as", "ann", "--sample", "0", "--floor", "0", given="y\n" * 10)
    assert {8, 9} == {one.episode for one in marks(folder)}
    assert {"dispute"} == {one.chosen for one in marks(folder)}
    assert "dispute" not in ran.stdout


def test_who_waits_is_let_in_as_soon_as_there_is_a_ledger(world: Any, tmp_path: Path, speak: Speak) -> None:
    live = Live(world, tmp_path / "live")
    ran = review(live.folder.path, "--as", "ann")
    assert (1, True) == (ran.returncode, "must hold a readable ledger" in ran.stderr)
    talk = speak(live.folder.path, "--as", "ann", "--only", "questions", "--wait")
    for _ in range(3):
        talk.say("4")
    assert Finish(0, "finished") == live.start().run(60.0)
    talk.until("nothing is left to look at")
    assert 0 == talk.end()
