"""`summary.json`: the figures of a run, from its ledger and two times that only the command knows."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.runtime.observe.reading import Accuracy, Reading
from assay.runtime.run.coordination import AFTER, BEFORE, UNTRAINED


def summarize(
    reading: Reading,
    entries: tuple[str, ...],
    wall_s: float,
    first_update_s: float | None,
    balance: str = "episodes",
    sampled: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the summary of a run that is over, or as far as it came.

    Args:
        reading: Of its ledger.
        entries: Of the mix, in order.
        wall_s: Seconds from the command's start to its end, over all resumptions.
        first_update_s: Seconds from the start to the first committed step; None where there is none.
        balance: What a share is a share of.
        sampled: What evaluations with several answers per task come to; its accuracy is then that of a domain.
    """
    accuracies = counted(reading, sampled)
    held_out = reading.held_out()
    counts = reading.counts()
    lag = reading.lag()
    return {
        "domains": {entry: _domain(accuracies, entry, held_out.get(entry, 0)) for entry in entries},
        "updates": reading.num_commits(),
        "episodes": {
            "submitted": counts.submitted,
            "trained": counts.trained,
            "evaluated": counts.evaluated,
            "dropped": dict(sorted(counts.dropped.items())),
            "in_flight": counts.in_flight,
        },
        "trainer_idle": reading.idle_share(),
        "lag": {"mean": None if lag is None else lag[0], "max": None if lag is None else lag[1]},
        "wall_s": wall_s,
        "first_update_s": first_update_s,
        "shares": {
            "unit": balance,
            "entries": {name: msgspec.structs.asdict(one) for name, one in reading.shares(entries, balance).items()},
        },
        **({} if sampled is None else {"samples": sampled}),
    }


def counted(reading: Reading, sampled: Mapping[str, Any] | None) -> dict[str, dict[str, Accuracy]]:
    """Return accuracy by evaluation and entry; where a task has several answers, of the one that counts."""
    accuracies = reading.accuracies()
    for evaluation, found in ({} if sampled is None else sampled["evaluations"]).items():
        for entry, one in found.items():
            if one["accuracy"] is not None:
                accuracies[evaluation][entry] = Accuracy(one["accuracy"] * one["tasks"], one["tasks"])
    return accuracies


def write_summary(path: Path, summary: dict[str, Any]) -> None:
    """Write the summary; what was there stays whole until the new one is."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    draft.replace(path)


def table(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the final table: a head, then one row per domain."""
    rows: list[tuple[str, ...]] = [("domain", "untrained", "after warm-up", "after RL", "gain", "held out")]
    for name, domain in summary["domains"].items():
        before, after = domain["before"], domain["after"]
        gain = "" if before is None or after is None else f"{after - before:+.3f}"
        shares = [_show(domain[key]) for key in ("untrained", "before", "after")]
        rows.append((name, *shares, gain, str(domain["held_out"])))
    return rows


def share_table(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return target and realised share per domain: a head, then one row each."""
    rows: list[tuple[str, ...]] = [("domain", "target", "realised", "alarms")]
    for name, one in summary["shares"]["entries"].items():
        cells = ["-" if one[key] is None else f"{one[key]:.1%}" for key in ("target", "realised")]
        rows.append((name, *cells, str(one["num_alarms"] or "")))
    return rows


def share_line(summary: dict[str, Any]) -> str:
    """Return in one line how far realised shares are from their targets; empty where nothing has a target."""
    entries = {
        name: one for name, one in summary["shares"]["entries"].items() if one["target"] and one["realised"] is not None
    }
    if len(entries) < 2:
        return ""
    off = {name: abs(one["realised"] - one["target"]) for name, one in entries.items()}
    part = {name: off[name] / entries[name]["target"] for name in entries}
    far, most = max(off, key=lambda name: off[name]), max(part, key=lambda name: part[name])
    unit, alarms = summary["shares"]["unit"].replace("_", " "), sum(one["num_alarms"] for one in entries.values())
    return (
        f"shares of {unit}: at most {100 * off[far]:.2f} points off their target ({far}), "
        f"{part[most]:.1%} of it ({most}), {alarms} starved"
    )


def _domain(accuracies: dict[str, dict[str, Accuracy]], entry: str, held_out: int) -> dict[str, Any]:
    """Where a run begins with reinforcement, its fresh weights are those it starts from; without any, its last are."""
    found = {name: by_entry[entry] for name, by_entry in accuracies.items() if entry in by_entry}
    untrained = found.get(UNTRAINED) or found.get(BEFORE)
    before = found.get(BEFORE) or (found.get(AFTER) if UNTRAINED in found else None)
    after = found.get(AFTER)
    return {
        "untrained": None if untrained is None else untrained.share,
        "before": None if before is None else before.share,
        "after": None if after is None else after.share,
        "held_out": held_out,
    }


def _show(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"
