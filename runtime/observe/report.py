"""`report.html`: one page about one run. No script, no network, no file beside it."""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.runtime.judge.account import judge_table
from assay.runtime.observe.audit_section import audit_section
from assay.runtime.observe.curve import COLOURS, curve, smooth
from assay.runtime.observe.people_section import people_section
from assay.runtime.observe.reading import CommitRow, Reading
from assay.runtime.observe.summary import counted, share_table, table
from assay.runtime.run.plan import RunPlan
from assay.runtime.strategy.table import sample_table

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --faint: #6b6b6b; --rule: #ddd; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #161616; --faint: #a0a0a0; --rule: #3a3a3a; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 1180px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.faint { color: var(--faint); }
table { border-collapse: collapse; } th, td { text-align: right; padding: .25rem .9rem .25rem 0; }
th:first-child, td:first-child, .words th, .words td { text-align: left; } th { color: var(--faint); font-weight: 500; }
tr + tr td { border-top: 1px solid var(--rule); }
.words td { vertical-align: top; } .names th:nth-child(2), .names td:nth-child(2) { text-align: left; }
.wide + .wide { margin-top: 1rem; }
code { font-size: .92em; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 1.2rem 2rem; }
figure { margin: 0; } svg { width: 100%; height: auto; }
svg .grid { stroke: var(--rule); } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg .title { font-weight: 600; } svg .tick { fill: var(--faint); font-size: 11px; }
.legend { margin: 0; font-size: 12px; } .legend span { margin-right: 1rem; white-space: nowrap; }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .35em; border-radius: 2px; }
"""


def write_report(path: Path, plan: RunPlan, reading: Reading, summary: Mapping[str, Any]) -> None:
    """Write the page; what was there stays whole until the new one is."""
    draft = path.with_suffix(".draft")
    draft.write_text(render_report(plan, reading, summary, str(path.parent)), encoding="utf-8")
    draft.replace(path)


def render_report(plan: RunPlan, reading: Reading, summary: Mapping[str, Any], run: str = "RUN") -> str:
    """Return the page as HTML; `run` is how the run is named on the command line."""
    name = html.escape(plan.name)
    body = [
        f"<h1>{name}</h1>",
        f'<p class="faint">seed {plan.seed}, plan {plan.digest[:12]}, stages {html.escape(_stages(plan))}</p>',
        "<h2>Held-out accuracy</h2>",
        _table(table(dict(summary))),
        *(_answers(summary["samples"]) if "samples" in summary else ()),
        f"<h2>Shares of {html.escape(summary['shares']['unit'])}</h2>",
        '<p class="faint">Since the targets last changed: a stage with other shares, or an entry unlocked.</p>',
        _table(share_table(dict(summary))),
        *(("<h2>Judges</h2>", _table(judge_table(summary["judge"]))) if "judge" in summary else ()),
        *([audit_section(summary["audit"], run)] if summary.get("audit") else []),
        *([people_section(summary["people"])] if "people" in summary else []),
        "<h2>Run</h2>",
        _table(_facts(reading, summary)),
        "<h2>Curves</h2>",
        f'<div class="figures">{"".join(_figures(plan, reading, summary))}</div>',
        "<h2>What happened</h2>",
        _table([("s", "event", "detail"), *_events(reading)], "words"),
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}</title><style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _answers(sampled: Mapping[str, Any]) -> list[str]:
    """Return what several answers per task came to, one table per evaluation."""
    parts = ["<h2>Several answers per task</h2>"]
    for name in sampled["evaluations"]:
        parts += [f'<p class="faint">{html.escape(name)}</p>', _table(sample_table(sampled, name))]
    return parts


def _facts(reading: Reading, summary: Mapping[str, Any]) -> list[tuple[str, ...]]:
    episodes, lag, idle = summary["episodes"], summary["lag"], summary["trainer_idle"]
    rows: list[tuple[str, ...]] = [
        ("", "value"),
        ("updates", str(summary["updates"])),
        *((f"episodes {key}", str(episodes[key])) for key in ("submitted", "trained", "evaluated", "in_flight")),
        *((f"dropped: {reason}", str(number)) for reason, number in episodes["dropped"].items()),
        *((f"unscored: {cause}", str(number)) for cause, number in sorted(reading.unscored().items())),
        ("trainer idle", "-" if idle is None else f"{idle:.1%}"),
        ("lag, mean and largest", "-" if lag["mean"] is None else f"{lag['mean']:.2f}, {lag['max']} updates"),
        ("wall time", f"{summary['wall_s']:.1f} s"),
        ("first update", "-" if summary["first_update_s"] is None else f"{summary['first_update_s']:.1f} s"),
    ]
    failed = reading.failed_rows()
    if failed:
        rows.append(("rows that failed", str(len(failed))))
    return rows


def _figures(plan: RunPlan, reading: Reading, summary: Mapping[str, Any]) -> list[str]:
    commits = reading.commits()
    entries = [entry.name for entry in plan.entries]
    rewards = {name: smooth(_line(commits, f"reward/{name}"), 3) for name in entries}
    accuracies = _accuracy_lines(plan, reading, summary.get("samples"))
    figures = [
        curve("Held-out accuracy by step", _few(plan, accuracies), low=0.0),
        curve("Mean reward of trained groups", _few(plan, rewards), low=0.0),
        curve("Pass rate of all verified groups", _few(plan, _pass_rates(entries, reading)), low=0.0),
        curve("Loss", {"loss": smooth(_line(commits, "loss"), 3)}),
        curve("Gradient norm", {"grad_norm": smooth(_line(commits, "grad_norm"), 3)}, low=0.0),
        curve("Learning rate", {"lr": _line(commits, "lr")}, low=0.0),
        curve("Staleness of trained episodes, in updates", {
            "mean": _line(commits, "lag_mean"), "largest": _line(commits, "lag_max")
        }, low=0.0),
        curve("Seconds of a step", {
            "blocked in Take": smooth([(c.version.step, c.wait_s) for c in commits], 3),
            "busy": smooth([(c.version.step, c.busy_s) for c in commits], 3),
        }, low=0.0),
        curve("Gap of log-probs, engine against trainer", {
            "after the last sync": _line(commits, "probe_gap"),
            "sampled by current weights": _line(commits, "logprob_gap_max"),
        }, low=0.0),
    ]  # fmt: skip
    return [f"<figure>{figure}</figure>" for figure in figures]


def _few(plan: RunPlan, lines: dict[str, list[tuple[float, float]]]) -> dict[str, list[tuple[float, float]]]:
    """Return as many lines as there are colours: of a long mix the entries with the largest shares, and the mean."""
    if len(lines) <= len(COLOURS):
        return lines
    shares = {entry.name: entry.share for entry in plan.entries}
    first = sorted(lines, key=lambda name: -shares.get(name, 0.0))[: len(COLOURS) - 1]
    by_step: dict[float, list[float]] = {}
    for points in lines.values():
        for step, value in points:
            by_step.setdefault(step, []).append(value)
    mean = [(step, sum(values) / len(values)) for step, values in sorted(by_step.items())]
    return {f"mean of {len(lines)} entries": mean, **{name: lines[name] for name in lines if name in first}}


def _line(commits: Sequence[CommitRow], name: str) -> list[tuple[float, float]]:
    return [(commit.version.step, commit.metrics[name]) for commit in commits if name in commit.metrics]


def _accuracy_lines(
    plan: RunPlan, reading: Reading, sampled: Mapping[str, Any] | None
) -> dict[str, list[tuple[float, float]]]:
    lines: dict[str, list[tuple[float, float]]] = {entry.name: [] for entry in plan.entries}
    accuracies = counted(reading, sampled)
    for evaluation, version in reading.evaluations().items():
        for entry, accuracy in accuracies.get(evaluation, {}).items():
            if accuracy.share is not None:
                lines[entry].append((version.step, accuracy.share))
    return lines


def _pass_rates(entries: Sequence[str], reading: Reading) -> dict[str, list[tuple[float, float]]]:
    lines: dict[str, list[tuple[float, float]]] = {name: [] for name in entries}
    for entry, step, share in reading.pass_rates():
        lines[entry].append((step, share))
    return {name: smooth(points, 3) for name, points in lines.items()}


def _events(reading: Reading, limit: int = 200) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        (f"{at_s:.1f}", what, detail) for _, at_s, what, detail in reading.log() if what != "rewards_shuffled"
    ]
    return rows if len(rows) <= limit else [*rows[: limit // 2], ("", "...", ""), *rows[-limit // 2 :]]


def _stages(plan: RunPlan) -> str:
    parts = [f"{stage.name} ({stage.kind}, {stage.steps or 'open'} steps)" for stage in plan.stages]
    return ", ".join(parts) or "none (evaluation)"


def _table(rows: Sequence[tuple[str, ...]], kind: str = "numbers") -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    return f'<div class="wide"><table class="{kind}"><tr>{head}</tr>{body}</table></div>'
