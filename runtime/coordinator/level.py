"""Difficulty: which rows of an entry training draws from now.

An entry's levels are ranges of its training rows, from easy to hard; it starts at the first. The mean pass rate of the
last `GROUPS` groups of the present level raises it by one above `RAISE` and lowers it by one below `LOWER`; then the
count begins anew. Groups of another level, still under way after a change, count in nothing here.
"""

from assay.runtime.coordinator import record
from assay.runtime.coordinator.instruction import Instruction
from assay.runtime.coordinator.spec import EntrySpec
from assay.runtime.coordinator.state import Group, Run

GROUPS = 16
LOWER, RAISE = 0.2, 0.8


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
        step = (mean > RAISE) - (mean < LOWER)
        if 0 <= level + step < len(entry.levels) and step:
            tally.level += step
            tally.level_rates.clear()
            # What was drawn ahead is of the level before.
            feed = run.feed(entry.name, "train")
            feed.ahead.clear()
            out.append(record.feed(feed))
            what = f"{entry.name}: {entry.levels[tally.level].name} after a pass rate of {mean:.2f}"
            out.append(record.log("level_raised" if step > 0 else "level_lowered", what, run.now_s))
    out.append(record.level(entry.name, tally.level, tally.level_rates))
