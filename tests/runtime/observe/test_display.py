"""What the display makes of one look at a run."""

import errno
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from assay.core.lifecycle import Counts
from assay.runtime.coordinator.status import EntryStatus, Status
from assay.runtime.observe.display import Display, Progress, clock, domain_rows, line

PLAN: Any = SimpleNamespace(name="demo")


def look(at_s: float, step: int, phase: str = "learn", trained: int = 0) -> Status:
    return Status(
        at_s=at_s,
        phase=phase,
        step=step,
        stage_step=step - 10,
        num_stage_steps=30,
        lineage=0,
        version=f"0.{step}",
        queues={"rollout_waiting": 3, "rollout_running": 2, "verify_waiting": 1, "groups_open": 4, "groups_ready": 5},
        workers={"rollout": 1},
        counts=Counts(10 + trained, trained, 0, {}, 10),
        entries={"spell": EntryStatus(1.0, 1.0, {"reward": 0.25, "pass_rate": 0.5}, trained, 1.0)},
        evaluations={"untrained": {"spell": (1, 8)}},
        lag_mean=1.25,
        lag_max=2,
        trainer_idle=0.3,
        wasted_tokens=0,
        anomalies={},
    )


def test_rates_and_time_left_come_from_the_looks() -> None:
    progress = Progress(PLAN)
    progress.add(look(10.0, 20))
    progress.add(look(14.0, 28, trained=80))
    assert 20.0 == progress.episodes_per_s
    assert 2.0 == progress.steps_per_s
    assert 6.0 == progress.left_s(look(14.0, 28))


def test_rate_forgets_another_phase() -> None:
    progress = Progress(PLAN)
    progress.add(look(10.0, 10, "warmup"))
    progress.add(look(11.0, 20))
    assert 0.0 == progress.steps_per_s
    assert progress.left_s(look(11.0, 20)) is None


def test_plain_line_says_what_a_person_asks() -> None:
    text = line(look(14.0, 28), Progress(PLAN), 61.0)
    for part in (
        "61.0 s",
        "learn step 28 (18/30)",
        "rollout 3+2",
        "verify 1+0",
        "group 4+5",
        "spell 0.25",
        "idle 30%",
    ):
        assert part in text


def test_row_of_a_domain_shows_every_evaluation() -> None:
    assert [("spell", ["0.250", "0.500", "100% of 100%", "0.125"])] == domain_rows(look(1.0, 11))


def test_starved_entry_is_named_in_line_and_table() -> None:
    starving = msgspec.structs.replace(look(1.0, 11), entries={"spell": EntryStatus(0.5, 0.02, {}, 1, 1.0, True)})
    assert "starved spell" in line(starving, Progress(PLAN), 1.0)
    assert "starved" not in line(look(1.0, 11), Progress(PLAN), 1.0)
    assert [("spell", ["-", "-", "2% of 50% starved", "0.125"])] == domain_rows(starving)


def test_entry_with_findings_is_named_with_them() -> None:
    entries = {"spell": EntryStatus(1.0, 1.0, {}, 0, 1.0, audit=("canary", "length"))}
    found = msgspec.structs.replace(look(1.0, 11), entries=entries)
    assert "audit spell canary length" in line(found, Progress(PLAN), 1.0)
    assert "audit" not in line(look(1.0, 11), Progress(PLAN), 1.0)


def crowd(num: int, num_starved: int = 0) -> Status:
    entries = {
        f"e{n}": EntryStatus((n + 1) / 10_000, 0.01, {"reward": n / 1000}, 1, 1.0, n < num_starved) for n in range(num)
    }
    return msgspec.structs.replace(look(14.0, 28), entries=entries, evaluations={})


def test_line_of_many_entries_sums_them_up() -> None:
    text = line(crowd(100, 10), Progress(PLAN), 61.0)
    assert "reward 0.050 mean of 100 entries, best e99 0.10 |" in text
    assert "starved e0 e1 e2 e3 e4 e5 e6 e7 and 2 more" in text
    assert len(text) < 400


def test_table_of_many_entries_keeps_the_starved_and_the_largest() -> None:
    assert ["e0", "e1", "e97", "e98", "e99"] == [name for name, _ in domain_rows(crowd(100, 2), 5)]
    assert 100 == len(domain_rows(crowd(100)))
    assert "1.0% of 0.5%" == domain_rows(crowd(50))[49][1][2]


def test_plain_display_prints_lines_without_escapes(tmp_path: Path) -> None:
    stream = io.StringIO()
    with Display(PLAN, tmp_path, stream) as display:
        assert display.tick() is None
        (tmp_path / "status.json").write_bytes(msgspec.json.encode(look(14.0, 28)))
        assert display.tick() is not None
        display.tick()
        display.say("so it is")
    lines = stream.getvalue().splitlines()
    assert 2 == len(lines)
    assert "so it is" == lines[1]
    assert "\x1b" not in stream.getvalue()


def test_terminal_display_is_a_table(tmp_path: Path) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    (tmp_path / "status.json").write_bytes(msgspec.json.encode(look(14.0, 28)))
    with Display(PLAN, tmp_path, stream) as display:
        display.tick()
    for part in ("demo", "learn", "rollout", "3+2", "pass rate", "untrained", "trainer idle 30%"):
        assert part in stream.getvalue()


@pytest.mark.parametrize("is_terminal", [False, True])
def test_reader_that_goes_away_ends_nothing(tmp_path: Path, is_terminal: bool) -> None:
    class Gone(io.StringIO):
        def isatty(self) -> bool:
            return is_terminal

        def write(self, text: str) -> int:
            raise OSError(errno.EIO, "the terminal was closed")

    (tmp_path / "status.json").write_bytes(msgspec.json.encode(look(14.0, 28)))
    with Display(PLAN, tmp_path, Gone()) as display:
        display.say("ending in order")
        for _ in range(2):
            shown = display.tick()
            assert shown is not None
            assert 28 == shown.step


def test_duration_is_for_people() -> None:
    assert ["-", "7 s", "2:05 min"] == [clock(None), clock(7.2), clock(125.0)]
