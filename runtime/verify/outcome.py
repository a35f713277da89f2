"""What comes of a job: a measurement that keeps to its declaration, or one line on why there is none."""

import msgspec

from assay.core.kind import misfit
from assay.core.verdict import Cause, Measurement
from assay.runtime.verify.flight import Flight, Outcome
from assay.runtime.verify.message import Declared, Reply


def measured(flight: Flight, declared: Declared, reply: Reply) -> Outcome:
    """Return the outcome of a reply with signals; a fault where they break the declaration."""
    fault = _misfit(declared, reply)
    if fault:
        return failed(flight, declared, "verifier_fault", fault)
    measurement = _measurement(flight, declared, reply.signals, reply.wall_s)
    return Outcome(flight.job.job_id, measurement, num_tries=flight.num_tries)


def timed_out(flight: Flight, declared: Declared, wall_s: float) -> Outcome:
    """Return the outcome of a job without a result in time: what a timeout earns, where it earns anything."""
    earned = declared.on_timeout
    return Outcome(
        flight.job.job_id,
        None if earned is None else _measurement(flight, declared, earned, wall_s),
        "verifier_timeout" if earned is None else None,
        _named(flight, declared, f"no result after {flight.job.timeout_s or declared.timeout_s:g} s"),
        is_timeout=True,
        num_tries=flight.num_tries,
        cost_usd=flight.spent.cost_usd,
        queue_s=flight.spent.queue_s,
    )


def failed(flight: Flight, declared: Declared, cause: Cause, detail: str, is_fatal: bool = False) -> Outcome:
    """Return the outcome of a job that nothing measured, with what it cost all the same."""
    detail, spent = _named(flight, declared, detail), flight.spent
    outcome = Outcome(flight.job.job_id, None, cause, detail, is_fatal, False, flight.num_tries)
    return msgspec.structs.replace(outcome, cost_usd=spent.cost_usd, queue_s=spent.queue_s)


def _misfit(declared: Declared, reply: Reply) -> str | None:
    """Say why signals break the declaration. The worker checked; but an answer that ran in it may have forged."""
    specs = declared.specs
    if not specs:
        text = reply.signals.get("answer", 0)
        return None if text is None or isinstance(text, str) else "a parser must return a text or None"
    if specs.keys() != reply.signals.keys():
        return f"signals must be {', '.join(specs)}, got {', '.join(reply.signals)}"
    for name, spec in specs.items():
        reason = misfit(spec.kind, reply.signals[name])
        if reason is not None:
            return f"signal `{name}` {reason}"
    return None


def _measurement(flight: Flight, declared: Declared, signals: dict, wall_s: float) -> Measurement:
    spent = flight.spent
    judged = spent.cost_usd, spent.num_calls, spent.num_cached, spent.queue_s
    return Measurement(flight.job.ref, declared.version, signals, wall_s, *judged)


def _named(flight: Flight, declared: Declared, detail: str) -> str:
    dist, version = flight.job.ref.split(":")[:2]
    return f"{declared.name} v{declared.version} of {dist} {version}: {detail}"
