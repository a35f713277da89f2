"""Verdicts: scored with signals, or unscored with a cause. Unscored is never zero."""

from typing import Literal

import msgspec

from assay.core.signal import SignalValue

Cause = Literal["infra", "verifier_fault", "verifier_timeout", "judge_error", "sandbox_lost", "cancelled"]


class Measurement(msgspec.Struct, frozen=True, array_like=True):
    """One verification of one episode.

    Attributes:
        verifier: `dist:version:module:object` of the code that ran.
        version: The verifier's own version number.
        signals: What it measured, by name.
        wall_s: Seconds it took.
        cost_usd: What it was charged; 0 where nothing was.
        num_calls: Replies of a judge it got, those from the cache of replies included.
        num_cached: How many of them came from that cache and cost nothing.
        queue_s: Seconds it waited for a box, or for a judge, to be free or to come back.
    """

    verifier: str
    version: int
    signals: dict[str, SignalValue]
    wall_s: float = 0.0
    cost_usd: float = 0.0
    num_calls: int = 0
    num_cached: int = 0
    queue_s: float = 0.0


class Payout(msgspec.Struct, frozen=True, array_like=True):
    """What the reward expressions made of the signals.

    Attributes:
        reward: The total that is trained, and logged.
        success: Whether the domain counts the episode as solved.
        gate: Index of the closed gate that paid; None where all were open.
        terms: Value of each term, `section.name`; the same keys in every episode of a domain, 0 behind a closed gate.
    """

    reward: float
    success: bool
    gate: int | None
    terms: dict[str, float]


class Scored(msgspec.Struct, frozen=True, array_like=True, tag="scored"):
    """The episode was measured.

    Attributes:
        measurements: By name under `verify:`; those behind a closed gate are absent.
        payout: Reward and terms.
        domain_digest: Digest of the whole program that graded.
        reward_digest: Digest of its reward alone.
    """

    measurements: dict[str, Measurement]
    payout: Payout
    domain_digest: str
    reward_digest: str


class Unscored(msgspec.Struct, frozen=True, array_like=True, tag="unscored"):
    """The episode could not be measured, through no doing of the policy.

    Attributes:
        cause: Whose doing it was.
        detail: One line for people.
        verifier: Name under `verify:`; empty where none was running.
        measurements: What had been measured before.
        cost_usd: What the verification that failed was charged even so.
        queue_s: Seconds it waited for a judge or a box.
    """

    cause: Cause
    detail: str
    verifier: str = ""
    measurements: dict[str, Measurement] = {}
    cost_usd: float = 0.0
    queue_s: float = 0.0


Verdict = Scored | Unscored
