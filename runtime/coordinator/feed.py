"""Feeds: which tasks come next, drawn ahead of need so that slow sources hold nobody up.

Draw number n of a feed depends on the run's seed, the entry, the split, n and what the sampler is shown; an evaluation
takes the first rows in order, demonstrations and unsampled training walk through all rows in a seeded order. Where an
entry has levels, training draws from the rows of the present one. `wanted` says how far ahead.
"""

import math
import random
from collections.abc import Iterator
from functools import cache

from assay.core.blob import BlobRef
from assay.core.error import AssayError, PluginError
from assay.core.task import TaskRef
from assay.core.wire import FailedTask, LeaseTasks, TasksReady
from assay.runtime.coordinator import lease, level, record
from assay.runtime.coordinator.instruction import Instruction, Send
from assay.runtime.coordinator.policy import Shuffled
from assay.runtime.coordinator.state import Feed, Run, Worker

# One source worker reads this many rows before anybody decides that it is stuck.
ROW_S = 30.0
# A hundred entries that each drew as much ahead as a large one would keep source workers busy with what nobody needs.
BATCHES_AHEAD, LEAST = 4, 32
# A sampler does not know which rows failed; one that picks nothing else gets the next row behind its pick.
MISSES = 1000


def task_ref(feed: Feed, index: int) -> TaskRef:
    """Return the name of a task."""
    return TaskRef(feed.entry.sources.get(feed.split, feed.entry.name), feed.split, index)


def take(run: Run, out: list[Instruction], feed: Feed, want: int) -> Iterator[tuple[int, BlobRef]]:
    """Yield up to `want` tasks whose bodies exist, in the order drawn; rows that failed are passed over."""
    taken = 0
    while feed.ahead and taken < want:
        index = feed.ahead[0]
        if index not in feed.failed and index not in feed.quarantined:
            if index not in feed.ready:
                break
            taken += 1
            feed.ahead.popleft()
            yield index, feed.ready[index]
        else:
            feed.ahead.popleft()
    if taken:
        out.append(record.feed(feed))


def num_usable(feed: Feed) -> int:
    """Return how many rows have not failed; none where nobody tries them any more."""
    if feed.is_lost:
        return 0
    return feed.entry.sizes.get(feed.split, 0) - len(feed.failed | feed.quarantined)


def _has_usable(feed: Feed, start: int, size: int) -> bool:
    """Whether one of the rows open now has not failed."""
    lost = feed.failed | feed.quarantined
    return size > (len(lost) if not feed.entry.levels else sum(start <= index < start + size for index in lost))


def num_ready(feed: Feed) -> int:
    """Return how many of the tasks ahead `take` would yield now."""
    count = 0
    for index in feed.ahead:
        if index in feed.failed or index in feed.quarantined:
            continue
        if index not in feed.ready:
            break
        count += 1
    return count


def is_waiting(feed: Feed) -> bool:
    """Whether the body of a task ahead is still to be made; a row that failed or is quarantined is passed over."""
    return any(
        index not in feed.ready and index not in feed.failed and index not in feed.quarantined for index in feed.ahead
    )


def wanted(run: Run, share: float, batch: int) -> int:
    """Return how many tasks to draw ahead: an entry's part of some batches, within `LEAST` and the run's prefetch."""
    return min(max(math.ceil(BATCHES_AHEAD * share * batch), LEAST), run.spec.prefetch)


def draw(run: Run, feed: Feed, want: int) -> None:
    """Draw until `want` tasks are ahead, as far as there are any; rows that failed are none."""
    start, size = 0, feed.entry.sizes.get(feed.split, 0)
    if feed.split == "train":
        start, size = level.rows(feed.entry, run.tallies[feed.entry.name].level)
    if feed.is_lost or not _has_usable(feed, start, size):
        return
    missing = want - sum(index not in feed.failed and index not in feed.quarantined for index in feed.ahead)
    num_missed = 0
    while missing > 0:
        index = start + _next(run, feed, size)
        feed.num_drawn += 1
        num_missed += 1
        if num_missed > MISSES and feed.split == "train" and feed.entry.sampler is not None:
            while index in feed.failed or index in feed.quarantined:
                index = start + (index - start + 1) % size
        if index not in feed.failed and index not in feed.quarantined:
            feed.ahead.append(index)
            missing -= 1
            num_missed = 0


def ask(run: Run, out: list[Instruction], feed: Feed, indices: Iterator[int] | None = None) -> None:
    """Lease rows that are wanted and not made to source workers with room."""
    if _free_source(run) is None:
        return
    missing = [
        index
        for index in dict.fromkeys(feed.ahead if indices is None else indices)
        if index not in feed.ready and index not in feed.failed and index not in feed.asked
    ]
    chunk = run.spec.task_chunk
    for start in range(0, len(missing), chunk):
        worker = _free_source(run)
        if worker is None:
            return
        part = tuple(missing[start : start + chunk])
        given = lease.grant(run, worker, ROW_S * len(part))
        given.entry, given.split, given.indices = feed.entry.name, feed.split, part
        feed.asked.update(part)
        out.append(Send(worker.peer, LeaseTasks(given.number, feed.entry.name, feed.split, part)))


def receive(run: Run, out: list[Instruction], report: TasksReady) -> None:
    """Take in bodies and failures; those that came before are duplicates."""
    if report.entry not in run.entries:
        run.count("unknown_entry")
        return
    feed = run.feed(report.entry, report.split)
    given = run.leases.get(report.lease)
    if given is not None and given.episode is None:
        lease.end(run, given)
    for ready in report.tasks:
        if ready.index in feed.ready:
            run.count("duplicate")
            continue
        feed.ready[ready.index] = ready.blob
        feed.is_lost = False
        out.append(record.task(report.entry, report.split, ready))
    for failed in report.failures:
        fail(run, out, feed, failed)


def fail(run: Run, out: list[Instruction], feed: Feed, failed: FailedTask) -> None:
    """Count a row that could not be made; nobody asks for it again."""
    if failed.index not in feed.failed:
        feed.failed.add(failed.index)
        run.count(failed.reason)
        out.append(record.failed_task(feed.entry.name, feed.split, failed))
        level.leave(run, out, feed)


def _free_source(run: Run) -> Worker | None:
    sources = [worker for worker in run.workers.values() if worker.role == "source" and worker.free["slots"] >= 1.0]
    return max(sources, key=lambda worker: worker.free["slots"], default=None)


def _next(run: Run, feed: Feed, size: int) -> int:
    if feed.split == "eval":
        return feed.num_drawn % size
    name = f"{run.spec.seed}:{feed.entry.name}:{feed.split}"
    sampler = feed.entry.sampler
    if feed.split == "demos" or sampler is None:
        return _walk(name).at(size, feed.num_drawn)
    owner = run.spec.owner(f"sampler.{feed.entry.name}", sampler)
    try:
        tally = run.tallies[feed.entry.name]
        seen = tally.stats.get(tally.level, {})
        index = sampler.pick(size, seen, random.Random(f"{name}:{feed.num_drawn}"))
    except AssayError:
        raise
    except Exception as error:
        raise PluginError("a sampler must not raise", got=repr(error), at=owner) from error
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < size:
        raise PluginError(f"a sampler must pick in [0, {size})", got=repr(index), at=owner)
    return index


@cache
def _walk(name: str) -> Shuffled:
    return Shuffled(name)
