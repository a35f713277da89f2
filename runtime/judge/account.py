"""What judges took in a run, from its ledger: calls, money and waiting, beside the price that was declared."""

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from assay.core.verdict import Unscored, Verdict
from assay.runtime.coordinator.ledger import read_only
from assay.runtime.judge.cache import Bill, read_bill
from assay.runtime.run.plan import RunPlan

_verdict = msgspec.json.Decoder(Verdict).decode


class Account(msgspec.Struct):
    """What judges took for one entry; verdicts that are unscored count too.

    Attributes:
        verdicts: Verdicts for which a judge was asked.
        calls: Replies, those from the cache of replies included.
        cached: Replies from that cache, which cost nothing.
        cost_usd: What the others were charged.
        queue_s: Seconds of waiting for a judge to be free or to come back.
    """

    verdicts: int = 0
    calls: int = 0
    cached: int = 0
    cost_usd: float = 0.0
    queue_s: float = 0.0


def read_accounts(ledger: Path, entries: Iterable[str]) -> dict[str, Account]:
    """Return what judges took, by entry.

    Args:
        ledger: Of the run.
        entries: Those that ask a judge.

    Raises:
        StoreError: there is no ledger.
    """
    sql = "SELECT e.verdict FROM episode e JOIN grp g USING (grp) WHERE g.entry = ? AND e.verdict IS NOT NULL"
    with contextlib.closing(read_only(ledger)) as db:
        return {entry: _sum(text for (text,) in db.execute(sql, (entry,))) for entry in entries}


def judge_summary(plan: RunPlan, ledger: Path, replies: Path | None = None) -> dict[str, Any]:
    """Return what a run's summary says of judges; empty where no entry asks one.

    Args:
        plan: Of the run.
        ledger: Of the run.
        replies: File of replies, with the bill; None leaves out what no verdict says: what was paid before the run, and
            for verifications that were cancelled or killed.

    Raises:
        StoreError: there is no ledger.
    """
    prices = {entry.name: entry.price_usd for entry in plan.entries if entry.judged}
    accounts = read_accounts(ledger, prices)
    if not accounts:
        return {}
    bill = {} if replies is None else read_bill(replies)
    before, billed = bill.get("preflight", Bill()), bill.get("run", Bill())
    cost_usd = sum(one.cost_usd for one in accounts.values())
    lost_usd = max(0.0, billed.cost_usd - cost_usd)
    return {
        "calls": sum(one.calls for one in accounts.values()),
        "cost_usd": cost_usd + before.cost_usd + lost_usd,
        "preflight": msgspec.to_builtins(before),
        # Less is a sum of many prices in another order.
        "lost_usd": lost_usd if lost_usd > 1e-6 * billed.cost_usd else 0.0,
        "entries": {
            name: {
                **msgspec.to_builtins(one),
                "usd_per_episode": one.cost_usd / one.verdicts if one.verdicts else None,
                "declared_usd_per_episode": prices[name],
            }
            for name, one in accounts.items()
        },
    }


def judge_table(judge: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return a head, then one row per entry: what judges took, and what was declared."""
    rows: list[tuple[str, ...]] = [("domain", "calls", "cached", "USD", "USD an episode", "declared", "waited, s")]
    for name, one in judge["entries"].items():
        each, declared = ("-" if value is None else f"{value:.4g}" for value in (
            one["usd_per_episode"], one["declared_usd_per_episode"]
        ))  # fmt: skip
        money = f"{one['cost_usd']:.4g}"
        rows.append((name, str(one["calls"]), str(one["cached"]), money, each, declared, f"{one['queue_s']:.1f}"))
    if (before := judge.get("preflight", {"calls": 0}))["calls"]:
        rows.append(("before the run", str(before["calls"]), "-", f"{before['cost_usd']:.4g}", "-", "-", "-"))
    if lost_usd := judge.get("lost_usd"):
        rows.append(("without a verdict", "-", "-", f"{lost_usd:.4g}", "-", "-", "-"))
    return rows


def _sum(verdicts: Iterable[str]) -> Account:
    account = Account()
    for text in verdicts:
        verdict = _verdict(text)
        asked = [one for one in verdict.measurements.values() if one.num_calls]
        lost = (verdict.cost_usd, verdict.queue_s) if isinstance(verdict, Unscored) else (0.0, 0.0)
        account.verdicts += bool(asked or any(lost))
        account.calls += sum(one.num_calls for one in asked)
        account.cached += sum(one.num_cached for one in asked)
        account.cost_usd += sum(one.cost_usd for one in asked) + lost[0]
        account.queue_s += sum(one.queue_s for one in asked) + lost[1]
    return account
