"""One run from launch to report: supervise it, show it, and write down what came of it, however it ended."""

import contextlib
import fcntl
import json
import shutil
import signal
import sqlite3
import time
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

import msgspec

from assay.core.error import AssayError, ConfigError, RunFailed
from assay.core.launcher import Launch, Launcher
from assay.core.registry import resolve
from assay.runtime.judge.account import judge_summary
from assay.runtime.launch.child import last_words
from assay.runtime.launch.local import DRAINED, LocalLauncher
from assay.runtime.launch.process import launch_of, weight_bytes
from assay.runtime.observe.audit import audit_run
from assay.runtime.observe.display import Display
from assay.runtime.observe.metrics import MetricsFile
from assay.runtime.observe.people_section import people_summary
from assay.runtime.observe.reading import Reading
from assay.runtime.observe.report import write_report
from assay.runtime.observe.summary import summarize, write_summary
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import FILE, RunPlan
from assay.runtime.sandbox.open import reap_boxes, unguarded
from assay.runtime.strategy.choice import choose
from assay.runtime.tracker.crew import FINISH_S, Crew
from assay.runtime.weight.place import choose_weight_folder, reap_weight_folders, remove_weight_folder

_METRICS_S = 5.0
_ENDED_AT_ONCE = "ended at once"
# Who ends a run at once does not wait for its trackers.
_AT_ONCE_S = 3.0
# Less than one commit of the ledger may take.
_LEAST_FREE_BYTES = 256 << 10


class Outcome(msgspec.Struct, frozen=True):
    """How a run ended.

    Attributes:
        status: 0 finished, 130 drained or ended, 3 stuck, 1 failed.
        reason: One line.
        summary: What `summary.json` holds.
        trackers: A line on each tracker.
    """

    status: int
    reason: str
    summary: dict[str, Any]
    trackers: tuple[str, ...] = ()


class _Stopwatch:
    """Times that only the command knows; those of former parts of a resumed run come on top."""

    def __init__(self, folder: RunFolder, started_s: float) -> None:
        self._started_s = started_s
        before = _read(folder)
        self.before_s = float(before.get("wall_s") or 0.0)
        self.first_update_s: float | None = before.get("first_update_s")

    @property
    def wall_s(self) -> float:
        return self.before_s + time.monotonic() - self._started_s


def launch(
    plan: RunPlan, folder: RunFolder, stream: TextIO, started_s: float, signals: Sequence[signal.Signals] = ()
) -> Outcome:
    """Run until it is over; its folder is readable afterwards in any case.

    Args:
        plan: Of the run.
        folder: Prepared, or of a run to go on with.
        stream: Where to show it.
        started_s: When the command began, by the monotonic clock.
        signals: Each drains the run, and ends it the second time; only in the main thread.

    Raises:
        ConfigError: another command works on this run.
    """
    with _claim(folder):
        return _launch(plan, folder, stream, started_s, signals)


def _launch(
    plan: RunPlan, folder: RunFolder, stream: TextIO, started_s: float, signals: Sequence[signal.Signals]
) -> Outcome:
    stopwatch = _Stopwatch(folder, started_s)
    reap_weight_folders()
    # The command owns it: a trainer that is killed must find it again.
    weights = choose_weight_folder(folder.path, weight_bytes(plan))
    launcher = make_launcher(plan, launch_of(plan, folder, weights))
    metrics = MetricsFile(folder.metrics)
    status, reason = 1, ""
    with Display(plan, folder.path, stream) as display:
        crew = Crew(plan.trackers, folder, display.say)
        num_signals = 0
        has_said_so = False
        look_s = 0.0
        has_warned = False

        def on_signal(number: int, _: object) -> None:
            # Nothing is printed here: the signal may have come in the middle of a line.
            nonlocal num_signals
            num_signals += 1
            if num_signals > 1:
                raise KeyboardInterrupt
            launcher.drain()

        def say_so() -> None:
            nonlocal has_said_so
            if num_signals and not has_said_so:
                has_said_so = True
                display.say("ending in order; once more ends at once")

        for line in unguarded(plan):
            display.say(f"warning: {line}")

        def tick() -> None:
            nonlocal look_s, has_warned
            say_so()
            crew.tick()
            shown = display.tick()
            if not has_warned and folder.protections.exists():
                has_warned = True
                for line in missing_protections(folder):
                    display.say(f"warning: not locked down here: {line}")
            if shown is not None and shown.step and stopwatch.first_update_s is None:
                stopwatch.first_update_s = _first_update_s(folder, shown.at_s, stopwatch.wall_s)
            if time.monotonic() >= look_s:
                look_s = time.monotonic() + _METRICS_S
                # Whoever keeps the ledger ends the run where the disk is full.
                with contextlib.suppress(AssayError, OSError), Reading(folder.ledger) as reading:
                    metrics.update(reading)

        for number in signals:
            signal.signal(number, on_signal)
        try:
            crew.start()
            status = launcher.run(tick)
            reason = last_words(folder.logs / "coordinator.log")
        except KeyboardInterrupt:
            say_so()
            status, reason = DRAINED, _ENDED_AT_ONCE
        except RunFailed as error:
            status, reason = 1, str(error)
        finally:
            for number in signals:
                signal.signal(number, signal.SIG_IGN)
            launcher.end()
            # Only living processes need published weights and their probes.
            remove_weight_folder(weights)
            shutil.rmtree(folder.probes, ignore_errors=True)
            reap_boxes(plan)
    if status and (full := _is_full(folder)):
        reason = full
    try:
        summary = conclude(plan, folder, metrics, stopwatch.wall_s, stopwatch.first_update_s)
        told = crew.finish(_AT_ONCE_S if reason == _ENDED_AT_ONCE else FINISH_S)
    finally:
        crew.end()
    return Outcome(status, reason, summary, tuple(told))


def make_launcher(plan: RunPlan, launch: Launch) -> Launcher:
    """Return the launcher that the plan names.

    Raises:
        PluginError: it cannot be loaded here.
    """
    ref = plan.factories.get("launcher")
    options = plan.settings["launcher"].get("options", {})
    return LocalLauncher(launch) if ref is None else resolve(ref)(launch, **options)


def conclude(
    plan: RunPlan, folder: RunFolder, metrics: MetricsFile, wall_s: float, first_update_s: float | None
) -> dict[str, Any]:
    """Write metrics, summary and report from the ledger; returns the summary.

    Raises:
        PluginError: the strategy of its evaluations broke; everything else is written.
    """
    entries = tuple(entry.name for entry in plan.entries)
    fold_ledger(folder)
    try:
        reading = Reading(folder.ledger)
    except AssayError:
        # The coordinator never came to make one.
        summary = empty_summary(entries, wall_s, plan.balance)
        write_summary(folder.summary, summary)
        return summary
    with reading:
        sampled, broken = _sampled(plan, folder)
        summary = summarize(reading, entries, wall_s, first_update_s, plan.balance, sampled)
        if judge := judge_summary(plan, folder.ledger, folder.judge):
            summary["judge"] = judge
        summary["audit"] = audit_run(plan, folder)
        try:
            if people := people_summary(folder):
                summary["people"] = people
        except AssayError as error:
            broken = broken or error
        try:
            metrics.update(reading)
            write_summary(folder.summary, summary)
            write_report(folder.report, plan, reading, summary)
        except OSError as error:
            if not _is_full(folder):
                raise ConfigError("a run folder must be writable", got=error.strerror, at=folder.path) from None
    if broken is not None:
        raise broken
    return summary


def _sampled(plan: RunPlan, folder: RunFolder) -> tuple[dict[str, Any] | None, AssayError | None]:
    """Return what evaluations with several answers per task come to, or why that cannot be said."""
    if plan.settings.get("eval", {}).get("samples", 1) == 1:
        return None, None
    try:
        return choose(plan, folder), None
    except AssayError as error:
        return None, error


def fold_ledger(folder: RunFolder) -> None:
    """Fold what a killed coordinator left beside the ledger into its one file, so that a copy of it is whole."""
    if folder.ledger.exists():
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(folder.ledger)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def missing_protections(folder: RunFolder) -> list[str]:
    """Return what verifiers are not kept from on this machine; one line each."""
    found = json.loads(folder.protections.read_bytes())
    return sorted({line for one in found.values() for line in one["missing"]})


def empty_summary(entries: tuple[str, ...], wall_s: float, balance: str = "episodes") -> dict[str, Any]:
    """Return the summary of a run that has no ledger."""
    nothing = {"untrained": None, "before": None, "after": None, "held_out": 0}
    no_share = {"target": None, "realised": None, "num_alarms": 0}
    return {
        "domains": {entry: dict(nothing) for entry in entries},
        "updates": 0,
        "episodes": {"submitted": 0, "trained": 0, "evaluated": 0, "dropped": {}, "in_flight": 0},
        "trainer_idle": None,
        "lag": {"mean": None, "max": None},
        "wall_s": wall_s,
        "first_update_s": None,
        "shares": {"unit": balance, "entries": {entry: dict(no_share) for entry in entries}},
    }


def _first_update_s(folder: RunFolder, run_s: float, wall_s: float) -> float:
    """Return when the first step was committed: the run's clock says it exactly, this one began earlier."""
    try:
        with Reading(folder.ledger) as reading:
            return max(0.0, wall_s - run_s + min(row.at_s for row in reading.commits()))
    except (AssayError, ValueError):
        return wall_s


@contextlib.contextmanager
def _claim(folder: RunFolder) -> Iterator[None]:
    """Keep a run to one command: two would overwrite each other's weights, processes and summary."""
    try:
        file = (folder.path / FILE).open("rb+")
    except OSError as error:
        raise ConfigError("a run folder must be writable", got=error.strerror, at=folder.path) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                "a run must be worked on by one command at a time",
                got="a second one",
                at=folder.path,
                todo="Let the first one end",
            ) from None
        yield


def _is_full(folder: RunFolder) -> str:
    """Return what to say of a full disk, whose processes cannot even say so in their logs; empty where it has room."""
    free = shutil.disk_usage(folder.path).free
    if free >= _LEAST_FREE_BYTES:
        return ""
    return f"the disk of the run folder must have room, got {free >> 10} KiB - at {folder.path}. Make room and resume"


def _read(folder: RunFolder) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(folder.summary.read_bytes())
    except (OSError, ValueError):
        return {}
    return found
