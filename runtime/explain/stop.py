"""Earlier ends of an episode of several turns: what the counters of its trace were after each of them.

Turns, tokens and calls end together, so that one counter is never moved without the others.
"""

from typing import Any

import msgspec

from assay.core.message import ToolCallPart
from assay.core.trajectory import Trajectory

COUNTERS = ("turns", "tokens", "prompt_tokens", "tool_calls", "invalid_calls")


class Stop(msgspec.Struct, frozen=True):
    """The trace after one turn, as `trace.*` names its signals."""

    turn: int
    trace: dict[str, Any]


def stops(trajectory: Trajectory) -> list[Stop]:
    """Return the ends before the real one, in order; none where its turns do not add up to its trace."""
    found: list[Stop] = []
    counted = dict.fromkeys(COUNTERS, 0)
    seen: set[int] = set()
    for turn in trajectory.turns:
        counted["turns"] += 1
        if turn.segment not in seen:
            seen.add(turn.segment)
            segment = trajectory.segments[turn.segment]
            counted["tokens"] += len(segment.sampled_ids)
            counted["prompt_tokens"] += len(segment.prompt_ids)
        calls = [part for part in turn.completion.parts if isinstance(part, ToolCallPart)]
        counted["tool_calls"] += len(calls)
        counted["invalid_calls"] += sum(not call.is_valid for call in calls)
        # It would have ended by itself, and no limit would have cut it off.
        found.append(Stop(counted["turns"], {**counted, "truncated": False}))
    whole = {name: getattr(trajectory.trace, name) for name in COUNTERS}
    if not found or {name: found[-1].trace[name] for name in COUNTERS} != whole:
        return []
    return found[:-1]
