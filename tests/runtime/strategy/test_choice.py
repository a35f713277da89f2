"""What an evaluation with several answers per task comes to, from a stored run."""

import importlib.metadata
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.array import Array
from assay.core.error import ConfigError, PluginError
from assay.core.message import Message
from assay.core.registry import Registry
from assay.core.strategy import Sample
from assay.core.task import TaskRef
from assay.core.trajectory import Segment, Trace, Trajectory, Turn
from assay.core.verdict import Measurement, Payout, Scored, Unscored, Verdict
from assay.dsl.compile import compile_bytes
from assay.runtime import builtin
from assay.runtime.cli.try_ import try_plan
from assay.runtime.coordinator.instruction import Write
from assay.runtime.coordinator.ledger import Ledger
from assay.runtime.launch.run import conclude
from assay.runtime.observe.metrics import MetricsFile
from assay.runtime.run.build import build_entry
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import RunPlan, write_plan
from assay.runtime.store.local import LocalStore
from assay.runtime.strategy.choice import ask, choose
from assay.runtime.strategy.sight import make_strategy
from assay.runtime.strategy.table import sample_table

DOMAIN = """\
assay: 1
domain: pick.me
version: 1
fields: {q: str, expected: str}
data:
  train: [{q: a, expected: "10"}]
  eval: [{q: a, expected: "10"}, {q: b, expected: "2"}, {q: c, expected: "7"}]
prompt: "{q}"
verify:
  text: text.equal(expected)
  echo: text.equal(q)
reward:
  outcome: {correct: 1.0*text.equal + 0.1*echo.equal}
  efficiency: {when: text.equal, short: -0.01*trace.truncated}
"""
EXPECTED = ("10", "2", "7")
LOST: tuple[str, float] = ("lost", 0.0)
DIST = importlib.metadata.version("assay-rl")

Answers = Sequence[Sequence[tuple[str, float]]]
"""Per task: answer and mean log-probability of each sample; `LOST` has no verdict."""


def registry() -> Registry:
    made = Registry()
    made.add(builtin, "assay-rl", DIST)
    return made


def plan_of(strategy: str = "none", samples: int = 4, temperature: float = 1.0, **options: Any) -> RunPlan:
    found = registry()
    compiled = compile_bytes(DOMAIN.encode(), found, "pick.yaml", Path("."))
    plan = try_plan(build_entry("pick", 1.0, compiled, found), "stub", found)
    evaluation = {"tasks": 3, "every": 0, "temperature": temperature, "samples": samples, "strategy": strategy}
    factories = dict(plan.factories)
    if strategy != "none":
        factories["strategy"] = found.find("strategy", strategy).ref
    settings = {**plan.settings, "eval": {**evaluation, "options": options}}
    return msgspec.structs.replace(plan, settings=settings, factories=factories)


def trajectory(number: int, ref: TaskRef, text: str, logprob: float) -> Trajectory:
    ids = [ord(char) for char in text]
    numbers = {"int32": ids, "uint8": [1] * len(ids), "float32": [logprob] * len(ids), "int64": [0] * len(ids)}
    segment = Segment(
        None, Array.of([1], "int32"), *(Array.of(numbers[dtype], dtype) for dtype in numbers), finish_reason="stop"
    )
    turn = Turn((Message.of_text("user", "q"),), Message.of_text("assistant", text), 0)
    return Trajectory(number, ref, 1, (segment,), (turn,), text, text, Trace(1, len(ids), 1))


def verdict(index: int, text: str) -> Verdict:
    if text == "lost":
        return Unscored("infra", "gone")
    right = text == EXPECTED[index]
    measured = {
        "text": Measurement("v", 1, {"equal": right}),
        "echo": Measurement("v", 1, {"equal": text == "abc"[index]}),
    }
    return Scored(measured, Payout(float(right), right, None, {"outcome.correct": float(right)}), "d", "r")


@pytest.fixture
def write(tmp_path: Path) -> Callable[[RunPlan, Answers], RunFolder]:
    """Return a maker of run folders: one evaluation, written through the real store and ledger."""

    def make(plan: RunPlan, answers: Answers) -> RunFolder:
        pack, text = msgspec.msgpack.encode, lambda value: msgspec.json.encode(value).decode()
        folder = RunFolder(tmp_path / "run")
        folder.path.mkdir()
        write_plan(folder.path, plan)
        store, ledger = LocalStore(folder.blobs, "test-0"), Ledger(folder.ledger, plan.digest)
        writes, number = [], 0
        for index, samples in enumerate(answers):
            ref = TaskRef("rows", "eval", index)
            writes.append(
                Write("grp", (index, "pick", "eval", index, -1, "after", len(samples), 0, "evaluated", "", 0, -1))
            )
            for sibling, (said, logprob) in enumerate(samples):
                played, judged = trajectory(number, ref, said, logprob), verdict(index, said)
                trace = played.trace
                writes.append(Write("planned", (number, index, sibling, 1, 0.0)))
                row = (number, 0, pack(store.put(pack(played))), text(trace), trace.tokens, trace.tokens, 1.0, 0)
                writes.append(Write("rolled", row))
                told = (None, None, None)
                if isinstance(judged, Scored):
                    told = (judged.payout.reward, judged.payout.success, text(judged.payout.terms))
                writes.append(Write("verdict", (number, *told, text(judged), 0.1, 2.0)))
                writes.append(Write("state", ("evaluated", "", 0, number)))
                number += 1
        store.sync()
        ledger.commit(
            [*writes, Write("evaluation", ("after", 0, "done", 3.0)), Write("log", (4.0, "stop", "finished"))]
        )
        store.close()
        ledger.close()
        return folder

    return make


ANSWERS: Answers = (
    (("10", -2.0), ("10", -2.0), ("3", -0.5), ("10", -2.0)),
    (("5", -0.1), ("2", -3.0), ("5", -2.0), ("6", -2.0)),
    (("8", -2.0), LOST, ("9", -2.0), ("7", -0.2)),
)


def figures(found: dict[str, Any]) -> dict[str, Any]:
    return found["evaluations"]["after"]["pick"]


def test_the_winning_answer_counts_beside_one_answer_and_an_oracle(write: Any) -> None:
    plan = plan_of("majority")
    found = choose(plan, write(plan, ANSWERS))
    one = figures(found)
    pass_at_1 = (3 / 4 + 1 / 4 + 1 / 3) / 3
    assert (3, 0, 2, pass_at_1, 1.0) == (
        one["tasks"], one["tasks_unscored"], one["tasks_all_scored"], pytest.approx(one["pass_at_1"]), one["pass_at_n"]
    )  # fmt: skip
    # The third task is a tie of three answers; the seed decides it.
    assert one["accuracy"] in (1 / 3, 2 / 3)
    assert sum(len(said) for task in ANSWERS for said, _ in task) == one["tokens"]
    assert one["tokens"] / 3 == one["tokens_per_task"]
    assert ("majority", 4) == (found["strategy"], found["samples"])


def test_the_most_certain_answer_counts(write: Any) -> None:
    plan = plan_of("best_of")
    assert 1 / 3 == figures(choose(plan, write(plan, ANSWERS)))["accuracy"]


def test_a_signal_that_needs_no_reference_chooses(write: Any) -> None:
    plan = plan_of("best_of", signal="echo.equal")
    answers = ((("a", -2.0), ("10", -0.1)), (("2", -2.0), LOST), (LOST, LOST))
    one = figures(choose(plan, write(plan, answers)))
    assert (0.5, 0.75) == (one["accuracy"], one["pass_at_1"])


def test_an_unscored_answer_never_counts_as_wrong(write: Any) -> None:
    plan = plan_of("majority")
    one = figures(choose(plan, write(plan, ((LOST, ("10", -1.0), LOST, LOST), (LOST,) * 4, (("7", -1.0),) * 4))))
    assert (1.0, 1.0, 2, 1, 1) == (
        one["accuracy"], one["pass_at_1"], one["tasks"], one["tasks_unscored"], one["tasks_all_scored"]
    )  # fmt: skip


def test_without_a_strategy_all_answers_count_alike(write: Any) -> None:
    plan = plan_of()
    one = figures(choose(plan, write(plan, ANSWERS)))
    assert one["pass_at_1"] == one["accuracy"]


def test_nothing_scored_has_no_accuracy(write: Any) -> None:
    plan = plan_of("majority")
    found = choose(plan, write(plan, ((LOST,) * 4,)))
    assert [None] * 3 == [figures(found)[key] for key in ("accuracy", "pass_at_1", "pass_at_n")]
    assert ("pick", "-", "-", "-", "0", "16") == sample_table(found, "after")[1]


def test_the_summary_reports_the_answer_that_counts(write: Any) -> None:
    plan = plan_of("best_of")
    folder = write(plan, ANSWERS)
    summary = conclude(plan, folder, MetricsFile(folder.metrics), 1.0, None)
    assert (1 / 3, 3) == (summary["domains"]["pick"]["after"], summary["domains"]["pick"]["held_out"])
    assert summary["samples"] == choose(plan, folder)
    assert "<th>best_of of 4</th><th>pass@1</th><th>pass@4</th>" in folder.report.read_text()
    assert ("domain", "best_of of 4", "pass@1", "pass@4", "held out", "tokens per task") == (
        sample_table(summary["samples"], "after")[0]
    )


@pytest.mark.parametrize(
    ("strategy", "changes", "must"),
    [
        ("majority", {"samples": 1}, "more than one answer to pick from"),
        ("majority", {"temperature": 0.0}, "at a temperature above 0"),
        ("none", {"temperature": 0.0}, "at a temperature above 0"),
        ("best_of", {"signal": "text.equal"}, "needs no reference answer, but `text.equal` reads expected"),
        ("best_of", {"signal": "judge.quality"}, "signal that the domain has"),
        ("best_of", {"signal": "echo.quality"}, "signal that the domain has"),
    ],
)
def test_what_cannot_be_deployed_or_meant_is_refused(strategy: str, changes: dict[str, Any], must: str) -> None:
    with pytest.raises(ConfigError, match=must):
        make_strategy(plan_of(strategy, **changes))


def test_a_strategy_sees_no_signal_that_needs_the_reference(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Sample] = []

    def pick(self: Any, samples: Sequence[Sample], rng: random.Random) -> int:
        seen.extend(samples)
        return 0

    monkeypatch.setattr("assay.runtime.strategy.majority.Majority.pick", pick)
    plan = plan_of("majority")
    choose(plan, write(plan, ANSWERS))
    assert [{"echo.equal": False}] * 11 == [dict(sample.signals) for sample in seen]
    assert [("10", -2.0), ("3", -0.5)] == [(one.answer, one.mean_logprob) for one in (seen[0], seen[2])]


class Bad:
    """Picks what it is told to."""

    def __init__(self, picked: Any) -> None:
        self.picked = picked

    def pick(self, samples: Sequence[Sample], rng: random.Random) -> Any:
        if isinstance(self.picked, Exception):
            raise self.picked
        return self.picked


@pytest.mark.parametrize("picked", [-1, 1, True, 0.0, None, ValueError("oops")])
def test_a_strategy_that_breaks_names_its_distribution(picked: Any) -> None:
    with pytest.raises(PluginError, match=r"a strategy must .* - at mine 1.0"):
        ask(Bad(picked), [Sample("1", "1", 1, 0.0)], random.Random(0), "mine 1.0")


class Emptying:
    """Takes away what it is shown."""

    def pick(self, samples: list[Sample], rng: random.Random) -> int:
        samples.clear()
        return 0


def test_a_strategy_cannot_change_what_it_is_shown() -> None:
    samples = [Sample("1", "1", 1, 0.0)]
    with pytest.raises(PluginError, match="a strategy must not raise, got AttributeError"):
        ask(Emptying(), samples, random.Random(0), "mine 1.0")  # type: ignore[arg-type]
    assert 1 == len(samples)


def test_signals_of_a_strategy_that_are_no_names_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.runtime.strategy.majority.Majority.signals", 3, raising=False)
    with pytest.raises(PluginError, match=r"must be names such as judge\.quality, got 3 - at assay-rl"):
        make_strategy(plan_of("majority"))
