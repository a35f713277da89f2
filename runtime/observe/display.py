"""The live display: where the run stands, read twice a second from what the coordinator leaves in `status.json`.

On a terminal a table that renews itself; elsewhere a plain line every few seconds, and one for every event. Invariant:
a terminal or reader that goes away ends no run; from then on nothing is shown.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import msgspec

from assay.runtime.coordinator.status import EntryStatus, Status
from assay.runtime.run.plan import RunPlan

if TYPE_CHECKING:
    from rich.console import RenderableType

_PLAIN_S = 5.0
# Rates are those of so many looks, half a second apart.
_WINDOW = 20
# A plain line names the rewards of so many entries; a terminal has so many lines for other things than entries.
_NAMED = 8
_HEAD_LINES = 8


class _Look(NamedTuple):
    at_s: float
    ended: int
    step: int
    phase: str


class Progress:
    """Rates and the time left, from one look to the next.

    Args:
        plan: Of the run.
    """

    def __init__(self, plan: RunPlan) -> None:
        self._plan = plan
        self._looks: deque[_Look] = deque(maxlen=_WINDOW)

    def add(self, status: Status) -> None:
        """Take in a look."""
        if not self._looks or status.at_s > self._looks[-1].at_s:
            ended = status.counts.trained + status.counts.evaluated + sum(status.counts.dropped.values())
            self._looks.append(_Look(status.at_s, ended, status.step, status.phase))

    @property
    def episodes_per_s(self) -> float:
        """Episodes that ended, per second."""
        return self._rate(lambda look: look.ended)

    @property
    def steps_per_s(self) -> float:
        """Steps committed, per second of the present phase."""
        return self._rate(lambda look: look.step)

    def left_s(self, status: Status) -> float | None:
        """Return seconds left in the present stage; None where nobody can know."""
        rate = self.steps_per_s
        if not status.num_stage_steps or rate <= 0:
            return None
        return max(0, status.num_stage_steps - status.stage_step) / rate

    def _rate(self, count: Callable[[_Look], int]) -> float:
        if not self._looks:
            return 0.0
        last = self._looks[-1]
        first = next(look for look in self._looks if look.phase == last.phase)
        return (count(last) - count(first)) / (last.at_s - first.at_s) if last.at_s > first.at_s else 0.0


class Display:
    """Shows a run.

    Args:
        plan: Of the run.
        folder: Of the run.
        stream: Where to.
    """

    def __init__(self, plan: RunPlan, folder: Path, stream: TextIO) -> None:
        self._plan = plan
        self._path = folder / "status.json"
        self._stream = stream
        self._progress = Progress(plan)
        self._started_s = time.monotonic()
        self._plain_from_s = 0.0
        self._phase = ""
        self._live: Any = None
        self._is_lost = False

    def __enter__(self) -> "Display":
        if self._stream.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(file=self._stream), auto_refresh=False, transient=True)
            self._show(self._live.start)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._show(self._live.stop)

    def tick(self) -> Status | None:
        """Look again and show; returns what there was to see."""
        try:
            status = msgspec.json.decode(self._path.read_bytes(), type=Status)
        except (OSError, msgspec.MsgspecError):
            return None
        self._progress.add(status)
        if self._live is not None:
            table = self._render(status)
            self._show(lambda: self._live.update(table, refresh=True))
        elif status.phase != self._phase or time.monotonic() >= self._plain_from_s:
            self._plain_from_s = time.monotonic() + _PLAIN_S
            self._phase = status.phase
            self._print(line(status, self._progress, time.monotonic() - self._started_s))
        return status

    def say(self, text: str) -> None:
        """Print a line above the display."""
        if self._live is not None:
            self._show(lambda: self._live.console.print(text, markup=False, highlight=False))
        else:
            self._print(text)

    def _print(self, text: str) -> None:
        self._show(lambda: print(text, file=self._stream, flush=True))

    def _show(self, write: Callable[[], object]) -> None:
        if not self._is_lost:
            try:
                write()
            except OSError:
                self._is_lost = True

    def _render(self, status: Status) -> "RenderableType":
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        elapsed_s = time.monotonic() - self._started_s
        head = Text.assemble(
            (f" {self._plan.name} ", "bold reverse"), "  ", (status.phase, "bold"), f"  {head_line(status, elapsed_s)}"
        )
        left_s = self._progress.left_s(status)
        facts = Table.grid(padding=(0, 3))
        facts.add_row(
            f"episodes/s {self._progress.episodes_per_s:.0f}",
            f"steps/s {self._progress.steps_per_s:.2f}",
            f"lag {status.lag_mean:.2f} (max {status.lag_max})",
            f"trainer idle {status.trainer_idle:.0%}",
            f"stage left {clock(left_s)}",
        )
        queues = Table(box=None, padding=(0, 2), header_style="dim")
        cells = queue_cells(status.queues)
        for name in cells:
            queues.add_column(name, justify="right")
        queues.add_row(*cells.values())
        domains = Table(box=None, padding=(0, 2), header_style="dim")
        names = list(status.evaluations)
        for name in ("domain", "reward", "pass rate", "share", *names):
            domains.add_column(name, justify="left" if name == "domain" else "right")
        rows = domain_rows(status, max(_NAMED, self._live.console.size.height - _HEAD_LINES))
        for entry, row in rows:
            domains.add_row(entry, *row)
        left = len(status.entries) - len(rows)
        more = [Text(f"  and {left} more entries, see status.json", "dim")] if left else []
        findings = audited(status)
        told = [Text(f"  audit: {_names(findings)}", "yellow")] if findings else []
        return Group(head, facts, queues, domains, *more, *told)


def line(status: Status, progress: Progress, elapsed_s: float) -> str:
    """Return one look as one line."""
    busy = " ".join(f"{name} {cell}" for name, cell in queue_cells(status.queues).items())
    rewards = _rewards(status)
    starved = [name for name, entry in status.entries.items() if entry.is_starved]
    left_s = progress.left_s(status)
    parts = [
        f"{elapsed_s:6.1f} s  {status.phase} {head_line(status, None)}",
        busy,
        f"{progress.episodes_per_s:.0f} episodes/s {progress.steps_per_s:.2f} steps/s",
        f"reward {rewards}" if rewards else "",
        f"lag {status.lag_mean:.2f} idle {status.trainer_idle:.0%}",
        f"starved {_names(starved)}" if starved else "",
        f"audit {_names(findings)}" if (findings := audited(status)) else "",
        f"left {clock(left_s)}" if left_s is not None else "",
        f"stopping: {status.stopping}" if status.stopping else "",
    ]
    return " | ".join(part for part in parts if part)


def head_line(status: Status, elapsed_s: float | None) -> str:
    """Return step, version and elapsed time."""
    of = f"/{status.num_stage_steps}" if status.num_stage_steps else ""
    shown = f"step {status.step} ({status.stage_step}{of}) weights {status.version or '-'}"
    return shown if elapsed_s is None else f"{shown}  {clock(elapsed_s)}"


def queue_cells(queues: Mapping[str, int]) -> dict[str, str]:
    """Return the queue of each stage: waiting + running, and groups open + ready for update."""
    return {
        "source": str(queues.get("source", 0)),
        "rollout": f"{queues.get('rollout_waiting', 0)}+{queues.get('rollout_running', 0)}",
        "verify": f"{queues.get('verify_waiting', 0)}+{queues.get('verify_running', 0)}",
        "group": f"{queues.get('groups_open', 0)}+{queues.get('groups_ready', 0)}",
        "update": str(queues.get("groups_batched", 0)),
    }


def domain_rows(status: Status, limit: int | None = None) -> list[tuple[str, list[str]]]:
    """Return the cells of each domain: recent reward and pass rate, realised and target share, every evaluation.

    Args:
        status: To show.
        limit: Most rows; those that starve and those with the largest shares are kept, in the order of the mix.
    """
    entries = status.entries
    if limit is not None and len(entries) > limit:
        first = sorted(entries, key=lambda name: (not entries[name].is_starved, -entries[name].share))[:limit]
        entries = {name: entry for name, entry in entries.items() if name in set(first)}
    rows = []
    for name, entry in entries.items():
        cells = [_mean(entry.means, "reward"), _mean(entry.means, "pass_rate"), _share(entry)]
        for by_entry in status.evaluations.values():
            solved, scored = by_entry.get(name, (0, 0))
            cells.append(f"{solved / scored:.3f}" if scored else "-")
        rows.append((name, cells))
    return rows


def audited(status: Status) -> list[str]:
    """Return the entries that the audit has findings of, each with their names."""
    return [f"{name} {' '.join(entry.audit)}" for name, entry in status.entries.items() if entry.audit]


def clock(seconds: float | None) -> str:
    """Return a duration for people."""
    if seconds is None:
        return "-"
    return f"{seconds:.0f} s" if seconds < 100 else f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"


def _rewards(status: Status) -> str:
    means = {name: entry.means["reward"] for name, entry in status.entries.items() if "reward" in entry.means}
    if len(means) <= _NAMED:
        return " ".join(f"{name} {mean:.2f}" for name, mean in means.items())
    best = max(means, key=lambda name: means[name])
    return f"{sum(means.values()) / len(means):.3f} mean of {len(means)} entries, best {best} {means[best]:.2f}"


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return " ".join(names[:_NAMED]) + more


def _share(entry: EntryStatus) -> str:
    # Shares of a long mix differ in what whole per cents do not show.
    digits = 0 if entry.share >= 0.05 else 1
    starved = " starved" if entry.is_starved else ""
    return f"{entry.realised:.{digits}%} of {entry.share:.{digits}%}{starved}"


def _mean(means: dict[str, float], name: str) -> str:
    return f"{means[name]:.3f}" if name in means else "-"
