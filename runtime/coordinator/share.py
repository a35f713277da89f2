"""Shares: what each entry was given since the targets last changed, in the unit of `balance`, and who goes short.

The unit says what a share is a share of:

* `episodes`: episodes in committed batches.
* `trained_tokens`: their tokens with loss mask 1.
* `compute_s`: seconds of rollout and verification of all episodes, trained or not; the trainer's are not in it.

The books are opened anew when the targets change: a stage with other shares begins, or an entry is unlocked. So a
newcomer is owed nothing for the time before, and groups from before count in no book.

Groups that `admit` or missing scores drop are refilled, so that shares of what is trained come true. An entry that
loses nearly all its groups would draw all rollouts that way: below `FLOOR`, dropped groups are charged to it.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from assay.runtime.coordinator import record
from assay.runtime.coordinator.instruction import Instruction
from assay.runtime.coordinator.spec import EntrySpec, StageSpec
from assay.runtime.coordinator.state import Account, Group, Run

# The mean of all entries counts as so many episodes of an evaluation of one.
PRIOR = 2
# An entry may play at most 1 / FLOOR times the groups that its share asks for.
FLOOR = 0.25
# A window has at least so many steps, and so many that an entry's share of them is this many groups.
WINDOW_STEPS, WINDOW_GROUPS, MAX_WINDOW_STEPS = 20, 8, 200
# An entry that gets less than this part of its target over a window is starved.
STARVED = 0.25

Rows = Callable[[str, tuple[Any, ...]], Iterable[tuple[Any, ...]]]


def aim(run: Run, out: list[Instruction], weights: Mapping[str, float]) -> None:
    """Set the targets, and open the books anew where they are others.

    Args:
        run: Changed.
        out: Takes what the ledger must know.
        weights: Of the entries that are played now; the others have target 0.
    """
    total = math.fsum(weights.values())
    target = {name: weights.get(name, 0.0) / total for name in run.entries} if total > 0 else {}
    if target == run.target:
        return
    run.target, run.books_from = target, run.next_group
    run.accounts = {name: Account() for name in run.entries}
    run.standings.clear()
    run.starved.clear()
    out.append(record.curriculum(run))


def charge(run: Run, group: Group, unit: str, amount: float) -> None:
    """Book an amount of `unit` on the entry of a training group, where that is the unit of the run."""
    if unit == run.spec.balance and _counts(run, group):
        run.accounts[group.entry.name].units += amount


def close(run: Run, group: Group, *, is_trained: bool) -> None:
    """Book the end of a training group."""
    if _counts(run, group):
        account = run.accounts[group.entry.name]
        account.trained += is_trained
        account.dropped += not is_trained


def realised(run: Run) -> dict[str, float]:
    """Return the share each entry got since the targets last changed, summing to 1; 0 for all before anything came."""
    return fractions({name: account.units for name, account in run.accounts.items()}, run.entries)


def fractions(units: Mapping[str, float], names: Collection[str]) -> dict[str, float]:
    """Return each part of the sum; 0 for all where there is none."""
    total = math.fsum(units.values())
    return {name: units.get(name, 0.0) / total if total > 0 else 0.0 for name in names}


def pending(run: Run) -> Counter[str]:
    """Return the groups per entry that will be booked and are not: under way, or for seconds not verified yet."""
    is_spent = run.spec.balance == "compute_s"
    return Counter(
        group.entry.name
        for group in run.groups.values()
        if _counts(run, group) and (group.state == "open" or not is_spent)
    )


def expected(run: Run, entry: EntrySpec, num_pending: int) -> float:
    """Return what an entry has and will have, in the unit of `balance`, once its groups under way are through."""
    account = run.accounts[entry.name]
    mean = group_units(run, entry)
    if run.spec.balance == "compute_s":
        return account.units + num_pending * mean
    played = account.trained + account.dropped + num_pending
    return max(account.units + num_pending * mean * _yield(account), FLOOR * played * mean)


def group_units(run: Run, entry: EntrySpec) -> float:
    """Return the mean units of one group of an entry; before any was measured, a guess.

    The guess is what the entry took in the last evaluation, or else what an entry takes on average: a run admits groups
    of some batches before the first of them is measured.
    """
    tally = run.tallies[entry.name]
    if run.spec.balance == "compute_s":
        spent = entry.rollout_s + entry.verify_s
        if tally.spent_episodes:
            spent = tally.spent_s / tally.spent_episodes
        elif tally.seen_episodes:
            spent = tally.seen_s / tally.seen_episodes + entry.verify_s
        return entry.group_size * max(spent, 1e-9)
    if run.spec.balance == "episodes":
        return tally.trained_episodes / tally.unit_groups if tally.unit_groups else float(entry.group_size)
    if tally.trained_tokens:
        return tally.trained_tokens / tally.unit_groups
    if tally.seen_episodes:
        # A few held-out tasks say little of one entry alone: it begins near the mean of all.
        tallies = run.tallies.values()
        mean = sum(one.seen_tokens for one in tallies) / sum(one.seen_episodes for one in tallies)
        own = (tally.seen_tokens + PRIOR * mean) / (tally.seen_episodes + PRIOR)
        return entry.group_size * max(own, 1.0)
    return entry.group_size * (run.trained_tokens / run.counts.trained if run.trained_tokens else 1.0)


def group_shares(run: Run) -> dict[str, float]:
    """Return the share of trained groups per entry that gives the targets, summing to 1."""
    weights = {}
    for name, entry in run.entries.items():
        cost = group_units(run, entry)
        if run.spec.balance == "compute_s":
            # Groups that are dropped cost as much as those that are trained.
            cost /= _yield(run.accounts[name])
        weights[name] = run.target.get(name, 0.0) / cost
    total = math.fsum(weights.values()) or 1.0
    return {name: weight / total for name, weight in weights.items()}


def watch(run: Run, out: list[Instruction], stage: StageSpec) -> None:
    """Look at the shares of the last steps after a commit, and log who begins or ceases to starve."""
    now = {name: (account.units, account.trained) for name, account in run.accounts.items()}
    run.standings.append(now)
    if len(run.standings) > MAX_WINDOW_STEPS + 1:
        run.standings.popleft()
    by_group = group_shares(run)
    for name, target in run.target.items():
        groups = by_group[name] * stage.batch
        steps = max(WINDOW_STEPS, math.ceil(WINDOW_GROUPS / groups)) if groups > 0 else 0
        if not 0 < steps < min(len(run.standings), MAX_WINDOW_STEPS + 1):
            continue
        before = run.standings[-1 - steps]
        got = fractions({other: now[other][0] - before[other][0] for other in now}, now)[name]
        is_starved = got < STARVED * target or now[name][1] == before[name][1]
        if is_starved != (name in run.starved):
            what = "starved" if is_starved else "no_longer_starved"
            detail = f"{name}: {got:.1%} of {run.spec.balance} over {steps} steps, target {target:.1%}"
            if is_starved and now[name][1] == before[name][1]:
                detail += ", no group trained"
            out.append(record.log(what, detail, run.now_s))
            run.starved.symmetric_difference_update((name,))


def read_accounts(rows: Rows, balance: str, since: int) -> dict[str, Account]:
    """Return the books as a ledger has them.

    Args:
        rows: Yields the rows of a query with its values.
        balance: Unit.
        since: Number of the first group in them.
    """
    accounts: dict[str, Account] = {}
    for name, trained, dropped in rows(
        "SELECT entry, SUM(state = 'trained'), SUM(state = 'dropped' AND reason != 'stage_over') FROM grp "
        "WHERE stage >= 0 AND grp >= ? GROUP BY entry",
        (since,),
    ):
        accounts[name] = Account(0.0, trained, dropped)
    for name, episodes, tokens, seconds in rows(
        "SELECT g.entry, SUM(e.state = 'trained'), SUM(CASE e.state WHEN 'trained' THEN e.trained_tokens ELSE 0 END), "
        f"SUM({SPENT_S}) FROM episode e JOIN grp g USING (grp) WHERE g.stage >= 0 AND g.grp >= ? GROUP BY g.entry",
        (since,),
    ):
        units = {"episodes": episodes, "trained_tokens": tokens, "compute_s": seconds}
        accounts[name].units = float(units[balance] or 0.0)
    return accounts


SPENT_S = "COALESCE(json_extract(e.trace, '$[7]'), 0.0) + COALESCE(e.verify_s, 0.0)"
"""Seconds of an episode in SQL: `wall_s` of its trace, and its verification."""


def _counts(run: Run, group: Group) -> bool:
    return group.purpose == "train" and group.number >= run.books_from and group.entry.name in run.accounts


def _yield(account: Account) -> float:
    """Return the part of groups that is trained; new entries begin at all."""
    return max(FLOOR, (account.trained + 1) / (account.trained + account.dropped + 1))
