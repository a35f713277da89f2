"""Rank 0 against a scripted coordinator: what it sends, in which order, and when it stops."""

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay.core.array import Array
from assay.core.blob import BlobRef
from assay.core.error import PluginError, TrainerError
from assay.core.group import Batch, DemonstrationRef, Group, Sibling
from assay.core.task import TaskRef
from assay.core.trainer import UpdateResult
from assay.core.trajectory import WeightVersion
from assay.core.wire import (
    BatchReady,
    Checkpoint,
    CheckpointSaved,
    Commit,
    Fault,
    Order,
    PublishWeights,
    Report,
    Resume,
    Resumed,
    Stop,
    Take,
    WeightsPublished,
    Welcome,
)
from assay.runtime.algorithm.grpo import Grpo
from assay.runtime.run.plan import StagePlan
from assay.runtime.stage.rank import Command, Leave, Load, Publish, Save, Update
from assay.runtime.stage.update import UpdateStage, batch_metrics

BLOB = BlobRef("0" * 64, 10, "s", 0)
TASK = TaskRef("s", "train", 0)
FRESH = Welcome(1, 0, 1.0)


class Script:
    """A client whose orders are written beforehand."""

    def __init__(self, *orders: Order) -> None:
        self.orders = deque(orders)
        self.reports: list[Report] = []
        self.reason = ""

    def poll(self, timeout_s: float) -> list[Order]:
        # All at once: what comes behind the order that is waited for must not get lost.
        orders = list(self.orders)
        self.orders.clear()
        return orders

    def send(self, report: Report) -> None:
        self.reports.append(report)

    def close(self, reason: str) -> None:
        self.reason = reason

    @property
    def kinds(self) -> list[str]:
        return [type(report).__name__ for report in self.reports]


class Worker:
    """Does nothing but remember commands."""

    def __init__(self, error: Exception | None = None) -> None:
        self.commands: list[Command] = []
        self.error = error

    def execute(self, command: Command) -> Any:
        self.commands.append(command)
        match command:
            case Update():
                if self.error is not None:
                    raise self.error
                return UpdateResult(0.5, 1.0, 7, {"clipped": 0.25})
            case Publish():
                return [("w", Array.of([1.0], "float32"))]
            case Save():
                return f"digest of {command.version}"
        return None


class Publisher:
    folder = Path("weights")

    def __init__(self) -> None:
        self.versions: list[WeightVersion] = []

    def publish(self, state: Iterable[tuple[str, Array]], version: WeightVersion) -> None:
        self.versions.append(version)


def rl_batch(step: int) -> Batch:
    siblings = tuple(Sibling(10 * step + n, float(n == 0), BLOB, WeightVersion(0, step - 2)) for n in range(4))
    return Batch(step, "learn", (Group(step, "spell", TASK, siblings),))


def ready(step: int, **options: Any) -> BatchReady:
    return BatchReady(rl_batch(step), 0, "rl", step - 10, 4, **options)


def run(*orders: Order) -> tuple[Script, Worker, Publisher]:
    script, worker, publisher = Script(*orders), Worker(), Publisher()
    drive(script, worker, publisher)
    return script, worker, publisher


def drive(script: Script, worker: Worker, publisher: Publisher, algorithm: Any = None) -> None:
    stages = (
        StagePlan("warmup", "sft", 10, 8, 4e-3),
        StagePlan("learn", "rl", 4, 8, 1e-3, warmup=2),
    )
    plan: Any = SimpleNamespace(
        factories={"algorithm": "mine:1.0:mine:Algorithm"},
        settings={"trainer": {"weight_decay": 0.0, "max_grad_norm": 1.0, "micro_tokens": 64, "lr_floor": 0.0}},
        stage=lambda name: next(stage for stage in stages if stage.name == name),
        stage_begins=lambda name: 0 if name == "warmup" else 10,
    )
    client: Any = script
    fake: Any = worker
    ranks: Any = SimpleNamespace(rank=0, broadcast=lambda payload: payload)
    UpdateStage(plan, ranks, fake, algorithm or Grpo(), publisher, client, checkpoints=Path("checkpoints")).run()


def at(step: int) -> Welcome:
    return Welcome(1, 0, 1.0, Checkpoint(WeightVersion(0, step), f"checkpoints/0.{step}", "d"))


def test_fresh_trainer_publishes_its_first_weights_before_it_takes() -> None:
    script, _, publisher = run(FRESH, Resumed(WeightVersion(0, 0)), Stop("over"))
    assert ["Resume", "WeightsPublished", "Take"] == script.kinds
    assert (Resume(0), Take(0, 1)) == (script.reports[0], script.reports[2])
    assert [WeightVersion(0, 0)] == publisher.versions


def test_trainer_that_comes_back_loads_what_the_ledger_vouches_for() -> None:
    script, worker, publisher = run(at(11), Resumed(WeightVersion(1, 11)), Stop("over"))
    assert Load("checkpoints/0.11", "d") == worker.commands[0]
    assert Resume(11) == script.reports[0]
    assert Take(1, 12) == script.reports[-1]
    assert [WeightVersion(1, 11)] == publisher.versions


def test_checkpoint_is_written_before_the_commit_and_weights_after_it() -> None:
    script, worker, _ = run(at(11), Resumed(WeightVersion(0, 11)), ready(12, should_checkpoint=True), Stop("over"))
    assert ["Resume", "WeightsPublished", "Take", "Commit", "WeightsPublished", "Take"] == script.kinds
    commit = script.reports[3]
    assert isinstance(commit, Commit)
    assert Checkpoint(WeightVersion(0, 12), "checkpoints/0.12", "digest of 0.12") == commit.checkpoint
    kinds = [type(command) for command in worker.commands]
    assert kinds.index(Update) < kinds.index(Save) < len(kinds) - 1 - kinds[::-1].index(Publish)


def test_commit_holds_advantages_and_metrics_of_its_batch() -> None:
    script, worker, _ = run(at(11), Resumed(WeightVersion(0, 11)), ready(12), Stop("over"))
    commit = next(report for report in script.reports if isinstance(report, Commit))
    assert [120, 121, 122, 123] == commit.episodes.to_list()
    assert abs(sum(commit.advantages.to_list())) < 1e-12
    assert commit.metrics.items() >= {"loss": 0.5, "clipped": 0.25, "reward/spell": 0.25, "lag_mean": 1.0}.items()
    update = next(command for command in worker.commands if isinstance(command, Update))
    assert list(commit.advantages.to_list()) == [sample.advantage for sample in update.samples]
    assert (WeightVersion(0, 11), "policy") == (update.version, update.settings.loss)


def test_rate_follows_the_stage_and_not_the_run() -> None:
    _, worker, _ = run(at(10), Resumed(WeightVersion(0, 10)), ready(11), ready(12), Stop("over"))
    rates = [command.settings.lr for command in worker.commands if isinstance(command, Update)]
    assert [0.5e-3, 1e-3] == rates


def test_demonstrations_are_trained_as_such() -> None:
    demonstrations = (DemonstrationRef("spell", TASK, BLOB),) * 3
    batch = BatchReady(Batch(1, "warmup", (), demonstrations), 0, "sft", 1, 10, True, False)
    script, worker, publisher = run(FRESH, Resumed(WeightVersion(0, 0)), batch, Stop("over"))
    update = next(command for command in worker.commands if isinstance(command, Update))
    assert ("sft", True, [1.0] * 3) == (
        update.settings.loss,
        update.should_reset_optimizer,
        [sample.advantage for sample in update.samples],
    )
    # Nobody asked for this version.
    assert [WeightVersion(0, 0)] == publisher.versions
    commit = next(report for report in script.reports if isinstance(report, Commit))
    assert 0 == len(commit.episodes)


def test_end_of_a_stage_publishes_what_was_held_back() -> None:
    script, _, publisher = run(
        at(11), Resumed(WeightVersion(0, 11)), ready(12, should_publish=False), PublishWeights(), Stop("over")
    )
    assert ["Take", "CheckpointSaved", "WeightsPublished"] == script.kinds[-3:]
    assert WeightVersion(0, 12) == publisher.versions[-1]


def test_end_of_a_stage_saves_what_was_published_and_publishes_it_no_more() -> None:
    script, _, publisher = run(at(11), Resumed(WeightVersion(0, 11)), ready(12), PublishWeights(), Stop("over"))
    assert ["WeightsPublished", "Take", "CheckpointSaved"] == script.kinds[-3:]
    assert [WeightVersion(0, 11), WeightVersion(0, 12)] == publisher.versions


def test_stop_leaves_a_checkpoint_of_the_last_step() -> None:
    script, worker, _ = run(at(11), Resumed(WeightVersion(0, 11)), ready(12), Stop("drained"))
    saved = script.reports[-1]
    assert isinstance(saved, CheckpointSaved)
    assert WeightVersion(0, 12) == saved.checkpoint.version
    assert Leave() == worker.commands[-1]


def test_stop_saves_nothing_twice() -> None:
    script, _, _ = run(at(11), Resumed(WeightVersion(0, 11)), Stop("drained"))
    assert "CheckpointSaved" not in script.kinds


def test_batch_that_cannot_be_trained_ends_the_run_with_the_reason() -> None:
    script = Script(at(11), Resumed(WeightVersion(0, 11)), ready(12))
    with pytest.raises(TrainerError):
        drive(script, Worker(TrainerError("a loss must be finite", got="nan")), Publisher())
    assert Fault("a loss must be finite, got nan", is_fatal=True) == script.reports[-1]
    assert "a loss must be finite, got nan" == script.reason


class Answer(Grpo):
    """Answers what it is told to."""

    def __init__(self, found: Any) -> None:
        super().__init__()
        self.found = found

    def advantages(self, groups: Any) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.mark.parametrize(
    ("found", "must"),
    [
        (KeyError("oops"), "an algorithm must not raise"),
        ([[0.0] * 3], "one finite advantage per sibling"),
        ([], "one finite advantage per sibling"),
        ([[0.0, 0.0, 0.0, float("nan")]], "one finite advantage per sibling"),
    ],
)
def test_algorithm_that_breaks_ends_the_run_naming_its_distribution(found: Any, must: str) -> None:
    script = Script(at(10), Resumed(WeightVersion(0, 10)), ready(11), Stop("over"))
    with pytest.raises(PluginError, match=rf"{must}, got .* - at mine 1\.0"):
        drive(script, Worker(), Publisher(), Answer(found))


def test_metrics_of_a_batch_are_means_over_its_siblings() -> None:
    metrics = batch_metrics(rl_batch(12), WeightVersion(0, 11))
    assert {"reward/spell": 0.25, "lag_mean": 1.0, "lag_max": 1.0, "groups": 1.0} == metrics
    assert {} == batch_metrics(Batch(1, "warmup", ()), WeightVersion(0, 0))


def test_published_weights_name_their_folder() -> None:
    script, _, _ = run(FRESH, Resumed(WeightVersion(0, 0)), Stop("over"))
    published = next(report for report in script.reports if isinstance(report, WeightsPublished))
    assert (WeightVersion(0, 0), "weights") == (published.weights.version, published.weights.folder)
