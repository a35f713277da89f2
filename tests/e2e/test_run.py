"""One small real run, looked at from all sides."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from real_run import Command, living

from assay.core.array import Array
from assay.core.blob import BlobRef
from assay.core.group import Batch
from assay.core.trajectory import Trajectory
from assay.runtime.coordinator.ledger import read_only
from assay.runtime.store.local import LocalStore

pytestmark = pytest.mark.slow

ENTRIES = ["spell", "caesar", "spiral", "sort"]


@pytest.fixture(scope="module")
def ledger(small_run: Command) -> sqlite3.Connection:
    return read_only(small_run.run_folder / "ledger.sqlite")


@pytest.fixture(scope="module")
def summary(small_run: Command) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((small_run.run_folder / "summary.json").read_text())
    return found


def test_five_roles_are_five_processes(small_run: Command) -> None:
    processes = small_run.processes()
    assert {"coordinator", "source", "rollout", "verify", "update"} == {one["role"] for one in processes.values()}
    assert len(processes) == len({one["pid"] for one in processes.values()}) >= 5
    for one in processes.values():
        assert {"role", "name", "pid", "argv", "socket", "is_alive", "lives"} == set(one)
        assert not one["is_alive"]
        assert [0] == [life["exit"] for life in one["lives"]], one


def test_only_the_trainer_imports_megatron_and_the_coordinator_no_torch(small_run: Command) -> None:
    imported = {}
    for name in small_run.processes():
        lines = (small_run.run_folder / "logs" / f"{name}.log").read_text().splitlines()
        imported[name] = set(next(line for line in lines if line.startswith("imported:")).split()[1:])
    assert ["update-0"] == [name for name, modules in imported.items() if "megatron" in modules]
    assert {"update-0", "rollout-0"} == {name for name, modules in imported.items() if "torch" in modules}
    assert ["source-0"] == [name for name, modules in imported.items() if "reasoning_gym" in modules]
    assert {"zmq"} == imported["coordinator"]


def test_no_process_survives(small_run: Command) -> None:
    assert [] == living(small_run.process.pid)


def test_summary_has_exactly_its_keys(summary: dict[str, Any]) -> None:
    keys = ["domains", "updates", "episodes", "trainer_idle", "lag", "wall_s", "first_update_s", "shares", "audit"]
    assert keys == list(summary)
    assert ENTRIES == list(summary["domains"])
    for domain in summary["domains"].values():
        assert ["untrained", "before", "after", "held_out"] == list(domain)
        assert 16 == domain["held_out"]
        assert all(0.0 <= domain[key] <= 1.0 for key in ("untrained", "before", "after"))
    assert ["submitted", "trained", "evaluated", "dropped", "in_flight"] == list(summary["episodes"])
    assert ["mean", "max"] == list(summary["lag"])
    assert 0.0 < summary["first_update_s"] < summary["wall_s"]
    assert 0.0 <= summary["trainer_idle"] <= 1.0


def test_every_episode_is_accounted_for(summary: dict[str, Any]) -> None:
    episodes = summary["episodes"]
    ended = episodes["trained"] + episodes["evaluated"] + sum(episodes["dropped"].values())
    assert episodes["submitted"] == ended + episodes["in_flight"]
    assert 0 == episodes["in_flight"]
    assert 6 * 32 * 8 == episodes["trained"]
    assert 3 * 4 * 16 == episodes["evaluated"]
    assert 36 == summary["updates"]


def test_staleness_stays_in_its_bound(summary: dict[str, Any]) -> None:
    assert 0 <= summary["lag"]["mean"] <= summary["lag"]["max"] <= 2


def test_no_episode_is_in_two_batches(ledger: sqlite3.Connection) -> None:
    episodes = [
        sibling.episode
        for (body,) in ledger.execute("SELECT body FROM batch")
        for group in msgspec.msgpack.decode(body, type=Batch).groups
        for sibling in group.siblings
    ]
    assert len(episodes) == len(set(episodes)) > 0


def test_no_task_is_both_trained_or_shown_and_held_out(ledger: sqlite3.Connection) -> None:
    rows = ledger.execute("SELECT entry, split, hash FROM task WHERE hash != ''").fetchall()
    hashes = {
        split: {(entry, digest) for entry, s, digest in rows if s == split} for split in ("train", "demos", "eval")
    }
    assert all(hashes.values())
    assert set() == hashes["eval"] & (hashes["train"] | hashes["demos"])
    assert set() == hashes["train"] & hashes["demos"]
    assert 4 * 16 == len(hashes["eval"])


def test_every_trained_episode_has_its_trajectory_terms_and_advantage(
    small_run: Command, ledger: sqlite3.Connection
) -> None:
    rows = ledger.execute("SELECT episode, trajectory, terms, reward FROM episode WHERE state = 'trained'").fetchall()
    store = LocalStore(small_run.run_folder / "blobs")
    for episode, packed, terms, reward in rows:
        ref = msgspec.msgpack.decode(packed, type=BlobRef)
        trajectory = msgspec.msgpack.decode(store.get(ref), type=Trajectory)
        assert episode == trajectory.episode
        assert {"outcome.correct": reward} == json.loads(terms)
    store.close()
    trained: dict[int, float] = {}
    for (packed,) in ledger.execute("SELECT advantages FROM commits"):
        episodes, advantages = msgspec.msgpack.decode(packed, type=tuple[Array, Array])
        trained |= dict(zip(map(int, episodes.to_list()), advantages.to_list(), strict=True))
    assert {episode for episode, *_ in rows} == set(trained)


def test_advantages_sum_to_zero_in_each_group(ledger: sqlite3.Connection) -> None:
    group_of = dict(ledger.execute("SELECT episode, grp FROM episode WHERE state = 'trained'").fetchall())
    sums: dict[int, float] = {}
    for (packed,) in ledger.execute("SELECT advantages FROM commits"):
        episodes, advantages = msgspec.msgpack.decode(packed, type=tuple[Array, Array])
        for episode, advantage in zip(episodes.to_list(), advantages.to_list(), strict=True):
            group = group_of[int(episode)]
            sums[group] = sums.get(group, 0.0) + advantage
    assert max(abs(total) for total in sums.values()) < 1e-9


def test_engine_agrees_with_the_trainer_after_every_sync(small_run: Command) -> None:
    log = (small_run.run_folder / "logs" / "rollout-0.log").read_text()
    checked, gap = re.search(r"probes: (\d+) checked, \d+ missing, largest gap (\S+)", log).groups()  # type: ignore[union-attr]
    assert int(checked) >= 6
    assert float(gap) < 1e-4
    assert "alarm" not in log


def test_gap_of_log_probs_is_logged_and_small(small_run: Command) -> None:
    steps = [json.loads(line) for line in (small_run.run_folder / "metrics.jsonl").read_text().splitlines()]
    assert list(range(1, 37)) == [step["step"] for step in steps]
    reinforced = [step for step in steps if step["step"] > 30]
    assert max(step["probe_gap"] for step in reinforced) < 1e-4
    assert max(step.get("logprob_gap_max", 0.0) for step in reinforced) < 1e-4


def test_run_folder_holds_what_a_reader_needs(small_run: Command) -> None:
    folder = small_run.run_folder
    for name in ("config.yaml", "origins.json", "plan.json", "run.json", "metrics.jsonl", "report.html"):
        assert (folder / name).stat().st_size > 0, name
    assert sorted(f"{entry}.json" for entry in ENTRIES) == sorted(path.name for path in (folder / "programs").iterdir())
    # One file: a copy of it is the whole ledger.
    assert not (folder / "ledger.sqlite-wal").exists() or not (folder / "ledger.sqlite-wal").stat().st_size
    assert "<override" in (folder / "origins.json").read_text()
    assert {"0.30", "0.36"} <= {path.name for path in (folder / "checkpoints").iterdir()}
    assert (small_run.folder / "runs" / "latest").is_symlink()
    assert not list(Path("/dev/shm").glob("assay-weights-*/owner.json")) or _no_weights_of(folder)


def test_protections_of_verifiers_are_said(small_run: Command) -> None:
    found = json.loads((small_run.run_folder / "protections.json").read_text())
    (one,) = found.values()
    assert "no_new_privileges" in one["in_force"]
    for line in one["missing"]:
        assert f"warning: not locked down here: {line}" in small_run.output
    assert ("warning" in small_run.output) == bool(one["missing"])


def test_report_is_one_file_without_network(small_run: Command) -> None:
    page = (small_run.run_folder / "report.html").read_text()
    assert page.count("<svg") >= 8
    assert "<script" not in page
    assert [] == re.findall(r"(?:src|href)\s*=", page)
    assert {"http://www.w3.org/2000/svg"} == set(re.findall(r"https?://[^\"' >]+", page))
    for entry in ENTRIES:
        assert f"<td>{entry}</td>" in page


def test_plain_lines_and_the_final_table_are_printed(small_run: Command) -> None:
    output = small_run.output
    assert "\x1b" not in output
    assert re.search(r"(warmup|learn) step \d+ \(\d+/\d+\) weights", output)
    assert re.search(r"^domain +untrained +after warm-up +after RL +gain +held out$", output, re.MULTILINE)
    assert re.search(r"^spell +0\.\d{3}", output, re.MULTILINE)


def test_evaluation_alone_repeats_the_last_one(small_run: Command) -> None:
    again = Command(("eval", str(small_run.run_folder)), small_run.folder)
    try:
        assert 0 == again.wait(), again.output
        # `latest` stays with the run, which alone has something to resume and to evaluate again.
        assert small_run.run_folder.name.endswith("-quickstart")
        (folder,) = small_run.folder.glob("runs/*-eval-quickstart")
        summary = json.loads((folder / "summary.json").read_text())
        processes = json.loads((folder / "processes.json").read_text())["processes"]
        assert "update" not in {one["role"] for one in processes}
    finally:
        again.end()
    trained = json.loads(next(small_run.folder.glob("runs/*[0-9]-quickstart/summary.json")).read_text())
    assert {n: d["after"] for n, d in trained["domains"].items()} == {
        n: d["after"] for n, d in summary["domains"].items()
    }
    assert 0 == summary["updates"] == summary["episodes"]["trained"]


def test_finished_run_is_not_resumed_and_keeps_its_figures(small_run: Command) -> None:
    before = (small_run.run_folder / "summary.json").read_bytes()
    again = Command(("train", f"resume={small_run.run_folder}"), small_run.folder)
    try:
        assert 1 == again.wait(60), again.output
    finally:
        again.end()
    assert "a run must not be over to be resumed" in again.output
    assert before == (small_run.run_folder / "summary.json").read_bytes()


def _no_weights_of(folder: Path) -> bool:
    owners = [json.loads(path.read_text()) for path in Path("/dev/shm").glob("assay-weights-*/owner.json")]
    return str(folder) not in {owner["run"] for owner in owners}
