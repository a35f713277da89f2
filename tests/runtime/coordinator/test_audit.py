"""The audit in the coordinator: every alarm is logged once, whatever is killed; canaries count in no accuracy."""

import sqlite3
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from coordinator_world import FakeWorker, World, entry, scored, spec, unscored

from assay.core.trajectory import Trace, WeightVersion
from assay.core.verdict import Payout, Scored, Verdict
from assay.core.wire import EpisodeDone, LeaseEpisode, LeaseVerify, Report
from assay.runtime.audit.finding import Subject
from assay.runtime.audit.replay import replay
from assay.runtime.audit.stream import Audit
from assay.runtime.audit.threshold import Thresholds
from assay.runtime.coordinator.ledger import Ledger, has_answers
from assay.runtime.coordinator.spec import EvaluationSpec, StageSpec, TierSpec
from assay.runtime.coordinator.status import status
from assay.runtime.observe.reading import Accuracy, Reading

AT = Thresholds(block=4, window=4, min_window=2, min_spread=8)
WAITING = Thresholds(block=4, window=4, min_window=2, min_spread=8, wait=6)
Make = Callable[..., World]


class Lengthy(World):
    """A world whose episodes have lengths and answers of their own."""

    def answer(self, worker: FakeWorker, order: Any) -> Report:
        if not isinstance(order, LeaseEpisode):
            return super().answer(worker, order)
        tokens = 1 + order.episode % 7
        trace = Trace(1, tokens, 3, wall_s=0.5)
        version = worker.version or WeightVersion(0, 0)
        return EpisodeDone(order.lease, order.episode, self.blob(f"t{order.episode}"), version, trace, tokens, tokens)


def paid(episode: int) -> Verdict:
    """Pay length, and nothing that lasts: later episodes are paid by their number."""
    reward = (1 + episode % 7) / 10 if episode < 80 else float(episode * 2654435761 % 97 < 48)
    return Scored({}, Payout(reward, False, None, {"outcome.right": reward}), "d", "r")


@pytest.fixture
def lengthy(tmp_path: Path) -> Callable[[str], World]:
    def make(name: str) -> World:
        stage = StageSpec("rl", "rl", batch=4, steps=14, max_staleness=1, checkpoint_every=2)
        run = spec(entries=(entry("a", sizes={"train": 500}),), phases=(stage,), audit=AT, admit=lambda rewards: True)
        world = Lengthy(run, tmp_path / f"{name}.sqlite", seed=3)
        world.verdict = paid
        return world

    return make


def alarms(world: World) -> list[tuple[str, str]]:
    return [
        (what, detail) for what, detail in world.ledger.rows("SELECT what, detail FROM log WHERE what LIKE 'audit%'")
    ]


@pytest.mark.slow
def test_alarm_and_its_end_are_lines_of_the_log(lengthy: Callable[[str], World]) -> None:
    world = lengthy("one")
    world.go()
    (begins, first), (ends, last) = alarms(world)
    assert ("audit", "audit_over") == (begins, ends)
    assert first.startswith("a length: among siblings, more tokens go with more reward: mean correlation +1.00 over 16")
    assert "; see episode " in first
    assert last.startswith("a length: ")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_killed_coordinator_logs_what_an_undisturbed_one_does(lengthy: Callable[[str], World], seed: int) -> None:
    calm, shaken = lengthy("calm"), lengthy(f"shaken{seed}")
    calm.go()
    shaken.rng.seed(seed)
    turn = 0
    while shaken.finish is None:
        turn += 1
        assert turn < 2000
        if turn % 5 == 0:
            shaken.beat()
        for name in list(shaken.workers):
            shaken.work(name, 4)
        shaken.turn(shuffle=True)
        if shaken.rng.random() < 0.02:
            shaken.restart()
            # A coordinator that comes back asks for a hello and waits for it before it leases.
            shaken.turn(3.0)
    assert alarms(calm) == alarms(shaken)


@pytest.mark.slow
def test_fold_over_the_ledger_gives_the_alarms_of_the_log(lengthy: Callable[[str], World]) -> None:
    world = lengthy("one")
    world.go()
    found = replay(world.ledger.rows, {"a": Audit(Subject(()), AT)})
    told = [("audit" if alarm.is_on else "audit_over", alarm.judgement.text) for _, alarm in found]
    logged = [(what, detail.removeprefix("a length: ").partition("; see")[0]) for what, detail in alarms(world)]
    assert told == logged
    assert 2 == len(told)


def test_question_that_is_answered_too_late_holds_no_finding_up_and_is_passed_over_once(tmp_path: Path) -> None:
    stage = StageSpec("rl", "rl", batch=4, steps=14, max_staleness=1)
    people = entry("a", sizes={"train": 500}, tier="human", max_verify_s=1e6)
    tiers = {"human": TierSpec(inflight=24)}
    run = spec(entries=(people,), phases=(stage,), tiers=tiers, audit=WAITING, admit=lambda rewards: True)
    world = Lengthy(run, tmp_path / "ledger.sqlite", seed=3)
    world.verdict = paid
    asked = None
    for turn in range(400):
        for worker in world.workers.values():
            asked = next(filter(_is_first_question, worker.work), asked)
            worker.work = deque(order for order in worker.work if not _is_first_question(order))
        if world.finish is not None or alarms(world):
            break
        world.beat()
        for name in list(world.workers):
            world.work(name, 4)
        world.turn()
        audit = world.core.run.audits["a"]
        assert len(audit._ended) <= WAITING.wait
        if turn in (20, 150):
            world.restart()
            world.turn(3.0)
    assert ["audit"] == [what for what, _ in alarms(world)]
    answered = "SELECT COUNT(*) FROM verdict WHERE episode = 0"
    assert [(0,)] == list(world.ledger.rows(answered))
    # The answer comes after all: too late for the audit, also for one that is made again.
    world.post(world.workers["verify-0"], world.answer(world.workers["verify-0"], asked))
    world.turn()
    assert [(1,)] == list(world.ledger.rows(answered))
    again = Audit(Subject(()), WAITING)
    assert [alarms(world)[0][1].partition(": ")[2].partition("; see")[0]] == [
        alarm.judgement.text for _, alarm in replay(world.ledger.rows, {"a": again})
    ]
    assert [0] == again.passed == world.core.run.audits["a"].passed
    assert again.total.groups == world.core.run.audits["a"].total.groups
    world.ledger.close()


def _is_first_question(order: Any) -> bool:
    return isinstance(order, LeaseVerify) and order.episode == 0


def test_unscored_episodes_and_evaluations_enter_nothing(make: Make) -> None:
    phases = (EvaluationSpec("before", {"a": 3, "b": 2}), StageSpec("rl", "rl", batch=2, steps=6))
    world = make(phases=phases, audit=Thresholds(block=1))
    world.verdict = lambda episode: unscored() if episode % 5 == 0 else scored(float(episode % 2))
    world.go()
    for name, audit in world.core.run.audits.items():
        (groups, episodes), *_ = world.ledger.rows(
            "SELECT COUNT(DISTINCT grp), COUNT(*) FROM episode JOIN grp USING (grp) "
            "WHERE stage >= 0 AND reward IS NOT NULL AND grp.state != 'open' AND grp.reason != 'stage_over' "
            "AND entry = ?",
            (name,),
        )
        assert (groups, episodes) == (audit.total.groups, audit.total.episodes)
        assert 0 < episodes


@pytest.mark.slow
def test_findings_that_stand_are_in_the_status(lengthy: Callable[[str], World]) -> None:
    world = lengthy("one")
    world.go_until(lambda: bool(alarms(world)))
    assert ("length",) == status(world.core.run).entries["a"].audit


def with_canaries(**changes: Any) -> dict[str, Any]:
    sizes = {"train": 50, "eval": 10, "demos": 20, "canary": 3}
    sources = dict.fromkeys(sizes, "s")
    evaluations = [EvaluationSpec(name, {"a": 3, "b": 2}, canaries={"a": 2}) for name in ("before", "after")]
    phases = (evaluations[0], StageSpec("rl", "rl", batch=2, steps=2), evaluations[1])
    return {"entries": (entry("a", sizes=sizes, sources=sources), entry("b")), "phases": phases, **changes}


def test_canaries_are_played_beside_held_out_tasks_and_count_in_no_accuracy(make: Make) -> None:
    world = make(**with_canaries())
    world.reward = lambda episode: 1.0 if _split(world, episode) == "canary" else float(episode % 2)
    world.go()
    played = world.ledger.rows("SELECT evaluation, entry, idx FROM grp WHERE split = 'canary' ORDER BY grp")
    assert [("before", "a", 0), ("before", "a", 1), ("after", "a", 0), ("after", "a", 1)] == list(played)
    assert [] == list(world.ledger.rows("SELECT grp FROM grp WHERE split = 'canary' AND stage >= 0"))
    with Reading(world.path) as reading:
        accuracies = reading.accuracies()["after"]
    assert (3, 2) == (accuracies["a"].scored, accuracies["b"].scored)
    assert accuracies["a"].solved < 3
    evaluation = world.core.run.evaluations["after"]
    assert Accuracy(evaluation.solved["a"], evaluation.scored["a"]) == accuracies["a"]


def _split(world: World, episode: int) -> str:
    return world.core.run.episodes[episode].group.split


def test_solved_canary_is_an_alarm_that_names_the_episode_once(make: Make) -> None:
    world = make(**with_canaries())
    world.reward = lambda episode: 1.0 if _split(world, episode) == "canary" else float(episode % 2)
    world.go_until(lambda: world.core.run.evaluations.get("before") is not None and len(world.core.run.canaries) == 2)
    first = alarms(world)
    world.restart()
    world.turn(3.0)
    assert ("canary",) == status(world.core.run).entries["a"].audit
    assert () == status(world.core.run).entries["b"].audit
    world.go()
    assert first == alarms(world)
    (episode,) = next(
        iter(world.ledger.rows("SELECT MIN(episode) FROM submission JOIN grp USING (grp) WHERE split = 'canary'"))
    )
    text = f"no honest policy solves row 0 of data.canary, and episode {episode} did; see episode {episode}"
    assert ("audit", f"a canary: {text}") in first


def test_honest_policy_is_not_suspected_of_canaries(make: Make) -> None:
    world = make(**with_canaries())
    world.reward = lambda episode: 0.0 if _split(world, episode) == "canary" else float(episode % 2)
    world.go()
    assert [] == alarms(world)


def test_ledger_of_an_earlier_edition_gets_the_column_of_answers(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    Ledger(path, "plan").close()
    db = sqlite3.connect(path)
    db.execute("DROP VIEW episode")
    db.execute("ALTER TABLE rollout DROP COLUMN answer")
    db.execute("INSERT INTO rollout VALUES (0, 0, x'', '[1,4,3]', 4, 4, 1.0)")
    db.commit()
    assert not has_answers(db)
    db.close()
    ledger = Ledger(path, "plan")
    assert [(0, 0)] == list(ledger.rows("SELECT episode, answer FROM rollout"))
    ledger.close()
