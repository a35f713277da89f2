"""Questions of a verify worker: they wait, are answered, end or are found answered after a restart."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.core.episode import Episode
from assay.core.message import Message
from assay.core.trajectory import Trace
from assay.core.verdict import Scored, Unscored, Verdict
from assay.dsl.compile import compile_bytes
from assay.runtime.review.desk import NOBODY, PeopleDesk
from assay.runtime.review.question import Question
from assay.runtime.review.store import Mark, ReviewStore
from assay.runtime.verify.flight import Outcome
from assay.runtime.verify.grade import GradeDesk, Rubric
from assay.runtime.verify.host import VerifierHost

ASKED = {"question": "Ok?", "patience": "2h"}


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def desk(tmp_path: Path, clock: Clock) -> PeopleDesk:
    return PeopleDesk(tmp_path, clock=clock)


def ask(desk: PeopleDesk, job_id: int = 1, episode: int = 7, **arguments: Any) -> None:
    desk.ask(job_id, episode, "person", "assay-rl:1:m:a", 3, {**ASKED, **arguments})


def answer(folder: Path, value: float, episode: int = 7, **parts: Any) -> None:
    with ReviewStore(folder) as store:
        store.keep(Mark(0, "ann", episode, Question("Ok?", **parts).id, value, "question"))


def look(desk: PeopleDesk, clock: Clock, seconds: float = 1.0) -> list[Outcome]:
    clock.now_s += seconds
    return desk.poll()


def test_answer_becomes_a_measurement(desk: PeopleDesk, clock: Clock, tmp_path: Path) -> None:
    ask(desk)
    assert [] == look(desk, clock, 3600.0)
    answer(tmp_path, 1.0)
    (outcome,) = look(desk, clock)
    assert outcome.measurement is not None
    assert (1, {"mark": 1.0}, 3601.0) == (outcome.job_id, outcome.measurement.signals, outcome.measurement.wall_s)
    assert ("assay-rl:1:m:a", 3) == (outcome.measurement.verifier, outcome.measurement.version)
    assert ([], 0) == (desk.poll(), desk.num_open)


def test_patience_ends_unscored_and_never_with_a_mark(desk: PeopleDesk, clock: Clock) -> None:
    ask(desk)
    assert [] == look(desk, clock, 7199.0)
    (outcome,) = look(desk, clock, 1.0)
    assert (None, "verifier_timeout") == (outcome.measurement, outcome.cause)
    assert "nobody answered within 2h" == outcome.detail


def test_answer_of_a_restarted_run_is_found(desk: PeopleDesk, clock: Clock, tmp_path: Path) -> None:
    ask(desk)
    desk.close()
    answer(tmp_path, 0.0)
    again = PeopleDesk(tmp_path, clock=clock)
    ask(again, job_id=9)
    (outcome,) = again.poll()
    assert outcome.measurement is not None and (9, {"mark": 0.0}) == (outcome.job_id, outcome.measurement.signals)
    with ReviewStore(tmp_path) as store:
        assert 1 == len(store.questions())


def test_answer_to_another_question_or_episode_is_none(desk: PeopleDesk, clock: Clock, tmp_path: Path) -> None:
    ask(desk)
    answer(tmp_path, 1.0, high=10.0)
    answer(tmp_path, 1.0, episode=8)
    assert [] == look(desk, clock)


def test_question_given_up_has_no_outcome(desk: PeopleDesk, clock: Clock, tmp_path: Path) -> None:
    ask(desk)
    desk.withdraw(1)
    desk.withdraw(2)
    answer(tmp_path, 1.0)
    assert [] == look(desk, clock, 99_999.0)


def test_question_that_cannot_be_asked_is_its_verifiers_fault(desk: PeopleDesk) -> None:
    ask(desk, question="")
    (outcome,) = desk.poll()
    assert ("verifier_fault", "a question must have a text, got ''") == (outcome.cause, outcome.detail)


def test_who_cannot_wait_asks_for_the_next_time(tmp_path: Path, clock: Clock) -> None:
    desk = PeopleDesk(tmp_path, can_wait=False, clock=clock)
    ask(desk)
    (outcome,) = desk.poll()
    assert ("cancelled", True) == (outcome.cause, "assay review" in outcome.detail)
    with ReviewStore(tmp_path) as store:
        assert ["regrade"] == [one.origin for one in store.questions()]
    answer(tmp_path, 1.0)
    ask(desk, job_id=2)
    (outcome,) = desk.poll()
    assert outcome.measurement is not None


def test_queue_that_cannot_be_written_is_no_fault_of_the_verifier(tmp_path: Path, clock: Clock) -> None:
    desk = PeopleDesk(tmp_path / "gone", clock=clock)
    ask(desk)
    assert [] == desk.poll()
    assert [] == look(desk, clock, 54.0)
    (outcome,) = look(desk, clock, 6.0)
    assert ("infra", None) == (outcome.cause, outcome.measurement)
    regrade = PeopleDesk(tmp_path / "gone", can_wait=False, clock=clock)
    ask(regrade)
    assert ["infra"] == [one.cause for one in regrade.poll()]


def test_queue_that_comes_back_has_lost_no_question_and_no_answer(tmp_path: Path, clock: Clock) -> None:
    desk = PeopleDesk(tmp_path / "later", clock=clock)
    ask(desk)
    assert [] == desk.poll()
    (tmp_path / "later").mkdir()
    assert [] == look(desk, clock, 10.0)
    with ReviewStore(tmp_path / "later") as store:
        assert [7] == [one.episode for one in store.questions()]
    # Somebody moves the file away for a while, with what is asked and answered in it.
    answer(tmp_path / "later", 1.0)
    (tmp_path / "later").rename(tmp_path / "away")
    desk.close()
    assert [] == look(desk, clock, 10.0)
    (tmp_path / "away").rename(tmp_path / "later")
    (outcome,) = look(desk, clock, 10.0)
    assert outcome.measurement is not None


def test_who_holds_the_file_holds_no_verify_worker_up(tmp_path: Path, clock: Clock) -> None:
    desk = PeopleDesk(tmp_path, clock=clock)
    with ReviewStore(tmp_path) as holder:
        holder._db.execute("BEGIN IMMEDIATE")
        started_s = time.monotonic()
        ask(desk)
        assert [] == desk.poll()
        assert time.monotonic() - started_s < 5.0
        holder._db.execute("ROLLBACK")
        assert [] == look(desk, clock, 10.0)
        assert [7] == [one.episode for one in holder.questions()]


DOMAIN = b"""\
assay: 1
domain: demo.kind
version: 1
summary: Right answers that people find helpful.
fields: {q: str, expected: str}
data:
  train:
    - {q: "1+1", expected: "2"}
prompt: "{q}"
verify:
  ans: text.equal(expected)
  person: human.mark("Ok?")
reward:
  success: person.mark >= 0.5
  gate:
    - {if: ans.equal, else: 0}
  outcome:
    kind: person.mark + 0.5*ans.equal
"""


def episode(said: str, expected: str = "2") -> Episode:
    dialogue = (Message.of_text("user", "1+1"), Message.of_text("assistant", said))
    return Episode(7, "local/demo.kind@1", {"q": "1+1", "expected": expected}, dialogue, said, said, Trace(1, 1, 1))


def grade(
    world: Any, people: PeopleDesk | None, said: Mapping[int, str], text: bytes = DOMAIN, expected: str = "2"
) -> GradeDesk:
    program = compile_bytes(text, world.registry, "kind.yaml", Path(".")).require()
    leaves = {
        verify.use.leaf: world.registry.find("verifier", verify.use.leaf).ref for verify in program.verify.values()
    }
    desk = GradeDesk(VerifierHost(), {"kind": Rubric(program, leaves)}, people)
    for key, answer in said.items():
        desk.submit(key, "kind", episode(answer, expected))
    return desk


def collect(desk: GradeDesk, count: int) -> dict[int, Verdict]:
    found: dict[int, Verdict] = {}
    while len(found) < count:
        found |= dict(desk.poll(5.0))
    return found


@pytest.mark.slow
def test_people_are_asked_last_and_only_where_it_matters(world: Any, tmp_path: Path) -> None:
    people = PeopleDesk(tmp_path)
    desk = grade(world, people, {1: "wrong", 2: "2"})
    wrong = collect(desk, 1)[1]
    assert isinstance(wrong, Scored) and 0 == wrong.payout.gate
    while people.num_open < 1:
        desk.poll(0.05)
    assert (1, False) == (desk.num_open, desk.is_busy)
    answer(tmp_path, 1.0)
    right = collect(desk, 1)[2]
    assert isinstance(right, Scored)
    assert (1.5, True) == (right.payout.reward, right.payout.success)
    desk.close()


@pytest.mark.slow
def test_nobody_is_asked_about_what_cannot_be_scored(world: Any, tmp_path: Path) -> None:
    # Both are needed at once, and one of them fails on a field that is no number.
    text = DOMAIN.replace(b"  gate:\n    - {if: ans.equal, else: 0}\n", b"").replace(b"text.equal", b"number.equal")
    people = PeopleDesk(tmp_path)
    desk = grade(world, people, {1: "2"}, text, "two")
    verdict = collect(desk, 1)[1]
    assert isinstance(verdict, Unscored) and "verifier_fault" == verdict.cause
    assert 0 == people.num_open
    with ReviewStore(tmp_path) as store:
        assert [] == store.questions()
    desk.close()


@pytest.mark.slow
def test_nobody_to_ask_is_unscored_and_the_rest_goes_on(world: Any) -> None:
    desk = grade(world, None, {1: "2", 2: "wrong"})
    found = collect(desk, 2)
    assert isinstance(found[2], Scored)
    asked = found[1]
    assert isinstance(asked, Unscored)
    assert ("cancelled", NOBODY, "person") == (asked.cause, asked.detail, asked.verifier)
    assert ["ans"] == list(asked.measurements)
    desk.close()


@pytest.mark.slow
def test_cancelled_episode_asks_nobody_any_more(world: Any, tmp_path: Path) -> None:
    people = PeopleDesk(tmp_path)
    desk = grade(world, people, {1: "2"})
    while people.num_open < 1:
        desk.poll(0.05)
    desk.cancel(1)
    assert (0, 0, False) == (people.num_open, desk.num_open, desk.is_busy)
    desk.close()
