"""Figures of a run from a ledger that is written by hand."""

import json
from pathlib import Path

import msgspec
import pytest

from assay.core.error import StoreError
from assay.core.trajectory import Trace, WeightVersion
from assay.runtime.coordinator.instruction import Write
from assay.runtime.coordinator.ledger import Ledger
from assay.runtime.coordinator.record import Standing
from assay.runtime.launch.run import empty_summary
from assay.runtime.observe.metrics import MetricsFile
from assay.runtime.observe.reading import Accuracy, Reading
from assay.runtime.observe.summary import share_line, share_table, summarize, table, write_summary


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with one evaluation of three tasks, one trained group and one episode in flight."""
    ledger = Ledger(tmp_path / "ledger.sqlite", "plan")
    ledger.commit(_writes())
    ledger.close()
    return tmp_path / "ledger.sqlite"


def _writes() -> list[Write]:
    writes = []
    groups = [
        (0, "d", "eval", 0, -1, "untrained", 1, 0, "evaluated"),
        (1, "d", "eval", 1, -1, "untrained", 1, 0, "evaluated"),
        (2, "d", "eval", 2, -1, "untrained", 1, 0, "evaluated"),
        (3, "d", "train", 0, 1, "", 2, 5, "trained"),
        (4, "d", "train", 1, 1, "", 1, 6, "open"),
        (5, "d", "train", 2, 1, "", 1, 6, "dropped"),
    ]
    for group in groups:
        step = 7 if group[0] == 3 else 0
        writes.append(Write("grp", (*group, "", step, -1)))
    # Episode, group, reward, success, how it ended.
    for number, group, reward, success, ended, reason in [
        (0, 0, 1.0, True, "evaluated", ""),
        (1, 1, 0.0, False, "evaluated", ""),
        (2, 2, None, None, "evaluated", "infra"),
        (3, 3, 1.0, True, "trained", ""),
        (4, 3, 0.0, False, "trained", ""),
        (5, 4, None, None, None, ""),
        (6, 5, 0.0, False, "dropped", "not_admitted"),
    ]:
        writes.append(Write("planned", (number, group, 0, 1, 0.5)))
        if number != 5:
            # The group of step 7 was sampled by the weights of step 5: one update behind those it trained.
            writes.append(Write("rolled", (number, 5, b"", "{}", 2, 2, 1.0, 0)))
            verdict = '["unscored","infra","x"]' if reward is None else "{}"
            writes.append(Write("verdict", (number, reward, success, "{}", verdict, 0.1, 2.0)))
        if ended is not None:
            writes.append(Write("state", (ended, reason, 0, number)))
    for step, wait_s, at_s in ((1, 9.0, 11.0), (2, 1.0, 14.0), (3, 1.0, 15.0)):
        version = WeightVersion(0, step).pack()
        writes.append(Write("batch", (step, 0, step, b"", False, at_s - 1.0)))
        writes.append(Write("commits", (version, json.dumps({"loss": step}), b"", wait_s, 0.5, at_s)))
    writes.append(Write("evaluation", ("untrained", 0, "done", 3.0)))
    return writes


def test_unscored_counts_in_no_accuracy(path: Path) -> None:
    with Reading(path) as reading:
        assert {"untrained": {"d": Accuracy(1, 2)}} == reading.accuracies()
        assert {"infra": 1} == reading.unscored()


def test_every_episode_is_counted_once(path: Path) -> None:
    with Reading(path) as reading:
        counts = reading.counts()
    assert counts.is_conserved
    assert (7, 2, 3, {"not_admitted": 1}, 1) == (
        counts.submitted,
        counts.trained,
        counts.evaluated,
        counts.dropped,
        counts.in_flight,
    )


def test_idle_is_waiting_after_the_first_batch_over_the_time_from_it(path: Path) -> None:
    with Reading(path) as reading:
        # From second 10 to 15; the 9 s before the first batch are not in it.
        assert 2.0 / 5.0 == reading.idle_share()


def test_lag_is_updates_between_sampling_and_training(path: Path) -> None:
    with Reading(path) as reading:
        assert (1.0, 1) == reading.lag()


def test_summary_falls_back_where_a_run_has_no_warm_up(path: Path) -> None:
    with Reading(path) as reading:
        summary = summarize(reading, ("d", "other"), 20.0, 11.0)
    assert {"untrained": 0.5, "before": None, "after": None, "held_out": 2} == summary["domains"]["d"]
    assert {"untrained": None, "before": None, "after": None, "held_out": 0} == summary["domains"]["other"]
    assert 3 == summary["updates"]
    assert ("d", "0.500", "-", "-", "", "2") == table(summary)[1]


@pytest.mark.parametrize(("balance", "of_d"), [("episodes", 2 / 3), ("trained_tokens", 4 / 7), ("compute_s", 9 / 10)])
def test_summary_says_target_and_realised_share_in_the_unit_of_balance(
    tmp_path: Path, balance: str, of_d: float
) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite", "plan")
    standing = Standing(0, 0, False, 0, b"", 1, None, {}, target={"d": 0.75, "e": 0.25}, books_from=1)
    writes = [Write("meta", ("curriculum", msgspec.json.encode(standing))), Write("log", (9.0, "starved", "e: 1.0%"))]
    # Number, entry, state, episodes with their trained tokens, seconds of rollout and of verification.
    groups = [
        (0, "e", "trained", 9, 9),
        (1, "d", "trained", 2, 2),
        (2, "e", "trained", 1, 3),
        (3, "d", "dropped", 3, 5),
    ]
    episode = 0
    for number, name, state, size, tokens in groups:
        writes.append(Write("grp", (number, name, "train", number, 0, "", size, 0, state, "not_admitted", 1, 0)))
        for _ in range(size):
            trace = msgspec.json.encode(Trace(1, 9, 1, wall_s=1.5 if name == "d" else 0.5)).decode()
            writes.append(Write("planned", (episode, number, 0, 1, 0.5)))
            writes.append(Write("rolled", (episode, 0, b"", trace, 9, tokens, 1.0, 0)))
            writes.append(Write("verdict", (episode, 1.0, True, "{}", "{}", 0.3 if name == "d" else 0.5, 2.0)))
            writes.append(Write("state", (state, "", 0, episode)))
            episode += 1
    ledger.commit(writes)
    ledger.close()
    with Reading(tmp_path / "ledger.sqlite") as reading:
        summary = summarize(reading, ("d", "e"), 1.0, None, balance)
    assert balance == summary["shares"]["unit"]
    d, e = summary["shares"]["entries"]["d"], summary["shares"]["entries"]["e"]
    assert (0.75, 0.25, 0, 1) == (d["target"], e["target"], d["num_alarms"], e["num_alarms"])
    assert [of_d, 1 - of_d] == pytest.approx([d["realised"], e["realised"]])
    assert ("d", "75.0%", f"{of_d:.1%}", "") == share_table(summary)[1]


def test_summary_without_reinforcement_has_no_shares(tmp_path: Path) -> None:
    Ledger(tmp_path / "ledger.sqlite", "plan").close()
    with Reading(tmp_path / "ledger.sqlite") as reading:
        summary = summarize(reading, ("d",), 1.0, None)
    assert {"d": {"target": None, "realised": None, "num_alarms": 0}} == summary["shares"]["entries"]
    assert summary["shares"] == empty_summary(("d",), 1.0)["shares"]
    assert set(summary) == set(empty_summary(("d",), 1.0))


def test_written_summary_is_whole_json(path: Path, tmp_path: Path) -> None:
    with Reading(path) as reading:
        summary = summarize(reading, ("d",), 20.0, None)
    write_summary(tmp_path / "summary.json", summary)
    assert summary == json.loads((tmp_path / "summary.json").read_text())
    assert not (tmp_path / "summary.draft").exists()


def test_metrics_file_goes_on_where_it_was(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "metrics.jsonl"
    with Reading(path) as reading:
        assert 3 == MetricsFile(target).update(reading)
        assert 0 == MetricsFile(target).update(reading)
    steps = [json.loads(line) for line in target.read_text().splitlines()]
    assert [1, 2, 3] == [step["step"] for step in steps]
    assert 3 == steps[-1]["loss"]


def test_folder_without_a_ledger_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="a run folder must hold a readable ledger"):
        Reading(tmp_path / "ledger.sqlite")


def test_line_of_shares_names_the_farthest_entry_in_points_and_in_parts() -> None:
    shares = {
        "a": {"target": 0.7, "realised": 0.68, "num_alarms": 0},
        "b": {"target": 0.29, "realised": 0.305, "num_alarms": 1},
        "c": {"target": 0.01, "realised": 0.015, "num_alarms": 2},
        "d": {"target": 0.0, "realised": 0.0, "num_alarms": 0},
    }
    text = share_line({"shares": {"unit": "trained_tokens", "entries": shares}})
    assert "shares of trained tokens: at most 2.00 points off their target (a), 50.0% of it (c), 3 starved" == text
    assert "" == share_line({"shares": {"unit": "episodes", "entries": {"a": shares["a"]}}})
