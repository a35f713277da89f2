"""Difficulty: which rows of an entry training draws from now.

An entry's levels are ranges of its training rows, from easy to hard; it starts at the first. The mean pass rate of the
last `GROUPS` groups of the present level raises it by one above `RAISE` and lowers it by one below `LOWER`; then the
count begins anew. Groups of another level, still under way after a change, count in nothing here.
"""

from assay.runtime.coordinator import record
from assay.runtime.coordinator.instruction import Instruction
from assay.runtime.coordinator.spec import EntrySpec
from assay.runtime.coordinator.state import Feed, Group, Run

GROUPS = 16
LOWER, RAISE = 0.2, 0.8
# So many rows that fail, and none that can be made: nobody tries the others, of which there may be thousands.
LOST = 64


def rows(entry: EntrySpec, level: int) -> tuple[int, int]:
    """Return the first training row of a level and how many it has; all rows where there are no levels."""
    if not entry.levels:
        return 0, entry.sizes.get("train", 0)
    return sum(one.size for one in entry.levels[:level]), entry.levels[level].size


def place(entry: EntrySpec, index: int) -> tuple[int, int]:
    """Return the level of a training row and its position in it."""
    for level, one in enumerate(entry.levels):
        if index < one.size:
            return level, index
        index -= one.size
    return 0, index


def observe(run: Run, out: list[Instruction], group: Group, level: int, pass_rate: float) -> None:
    """Take in the pass rate of a training group, and change the level of its entry where it is due."""
    entry = group.entry
    tally = run.tallies[entry.name]
    if not entry.levels or level != tally.level:
        return
    tally.level_rates.append(pass_rate)
    if len(tally.level_rates) > GROUPS:
        tally.level_rates.popleft()
    if len(tally.level_rates) == GROUPS:
        mean = sum(tally.level_rates) / GROUPS
        to = _following(run.feed(entry.name, "train"), level, (mean > RAISE) - (mean < LOWER))
        if to != level:
            what = f"{entry.name}: {entry.levels[to].name} after a pass rate of {mean:.2f}"
            _enter(run, out, run.feed(entry.name, "train"), to)
            out.append(record.log("level_raised" if to > level else "level_lowered", what, run.now_s))
    out.append(record.level(entry.name, tally.level, tally.level_rates))


def is_lost(feed: Feed, level: int) -> bool:
    """Whether rows of a level cannot be made: all of them, or `LOST` and no other, have failed."""
    lost = feed.failed | feed.quarantined
    if not lost:
        return False
    start, size = rows(feed.entry, level) if feed.split == "train" else (0, feed.entry.sizes.get(feed.split, 0))
    num_lost = sum(start <= index < start + size for index in lost)
    has_rows = any(start <= index < start + size and index not in lost for index in feed.ready)
    return not has_rows and num_lost >= min(size, LOST)


def leave(run: Run, out: list[Instruction], feed: Feed) -> None:
    """Look for another level where the rows of the present one cannot be made; where none has any, say so once."""
    name, entry = feed.entry.name, feed.entry
    level = run.tallies[name].level if feed.split == "train" else 0
    if feed.is_lost or not is_lost(feed, level):
        return
    to = _elsewhere(feed, level)
    if to != level:
        what = f"{name}: no row of {entry.levels[level].name} can be made, {entry.levels[to].name} instead"
        _enter(run, out, feed, to)
        out.append(record.log("level_skipped", what, run.now_s))
        out.append(record.level(name, to, run.tallies[name].level_rates))
        run.count("level_skipped")
    else:
        feed.is_lost = True
        feed.ahead.clear()
        num_lost = len(feed.failed | feed.quarantined)
        out.append(record.log("rows_lost", f"{name}: no row of {feed.split} can be made, {num_lost} failed", run.now_s))
        run.count("rows_lost")


def restore(feed: Feed, level: int) -> None:
    """Give up a feed that had been given up before the run was resumed at a level."""
    if is_lost(feed, level) and _elsewhere(feed, level) == level:
        feed.is_lost = True
        feed.ahead.clear()


def _elsewhere(feed: Feed, level: int) -> int:
    """Return an easier level whose rows can be made, or else a harder one; the present one where there is none."""
    if feed.split != "train":
        return level
    easier = _following(feed, level, -1)
    return easier if easier != level else _following(feed, level, 1)


def _following(feed: Feed, level: int, step: int) -> int:
    """Return the next level in a direction whose rows can be made; the present one where there is none."""
    at = level + step
    while step and 0 <= at < len(feed.entry.levels):
        if not is_lost(feed, at):
            return at
        at += step
    return level


def _enter(run: Run, out: list[Instruction], feed: Feed, level: int) -> None:
    tally = run.tallies[feed.entry.name]
    tally.level = level
    tally.level_rates.clear()
    # What was drawn ahead is of the level before.
    feed.ahead.clear()
    out.append(record.feed(feed))
