"""The legal steps of an episode, one function each; anything else raises with the episode's story.

A step keeps four things right together: the state, the counts of the conservation law, the group's number of open
siblings and the tier's number in flight. Nothing else may set `Episode.state`.
"""

from collections.abc import Callable

from assay.core.error import TransitionError
from assay.core.lifecycle import ENDED, State, Step
from assay.runtime.coordinator.state import Episode, Run

_OPEN: frozenset[State] = frozenset(("planned", "rolling", "rolled", "verifying"))
_Transition = Callable[[Run, Episode, str], None]


def step(run: Run, episode: Episode, after: State, why: str = "") -> None:
    """Move an episode to a state.

    Raises:
        TransitionError: there is no such step; carries the story.
    """
    before = episode.state
    transition = _TRANSITIONS.get((before, after))
    if transition is None or episode.number not in run.episodes:
        raise TransitionError(
            f"an episode must not go from {before} to {after}",
            got=why or "no reason",
            at=f"episode {episode.number}",
            story=tuple(map(str, story(episode))),
        )
    episode.state = after
    episode.story.append((before, after, why, run.now_s))
    transition(run, episode, why)


def plan(run: Run, episode: Episode) -> None:
    """Submit a new episode."""
    run.episodes[episode.number] = episode
    run.counts.submitted += 1
    run.counts.in_flight += 1
    episode.group.episodes.append(episode)
    episode.group.num_open += 1
    tier = episode.group.entry.tier
    run.tier_inflight[tier] = run.tier_inflight.get(tier, 0) + 1


def story(episode: Episode) -> list[Step]:
    """Return everything that happened to an episode, oldest first."""
    return [Step(episode.number, before, after, why, at_s) for before, after, why, at_s in episode.story]


def _close(run: Run, episode: Episode) -> None:
    """An open sibling is verified or dropped."""
    episode.group.num_open -= 1
    run.tier_inflight[episode.group.entry.tier] -= 1


def _end(run: Run, episode: Episode) -> None:
    del run.episodes[episode.number]
    run.counts.in_flight -= 1
    run.dirty[episode.number] = episode


def _transition_planned_rolling(run: Run, episode: Episode, why: str) -> None:
    """A lease was given; the ledger is not told, leases are rebuilt."""


def _transition_rolling_planned(run: Run, episode: Episode, why: str) -> None:
    """The lease ended without a result; the seed stays."""
    run.dirty[episode.number] = episode


def _transition_rolling_rolled(run: Run, episode: Episode, why: str) -> None:
    """A trajectory is in the store."""


def _transition_planned_rolled(run: Run, episode: Episode, why: str) -> None:
    """The late answer of an expired lease that nobody holds again."""


def _transition_rolled_verifying(run: Run, episode: Episode, why: str) -> None:
    """A verify lease was given."""


def _transition_verifying_rolled(run: Run, episode: Episode, why: str) -> None:
    """The verify lease ended without a verdict."""
    run.dirty[episode.number] = episode


def _transition_rolled_planned(run: Run, episode: Episode, why: str) -> None:
    """The trajectory is lost; the episode is played again with its seed."""
    episode.trajectory, episode.version = None, None
    run.dirty[episode.number] = episode


def _transition_verifying_scored(run: Run, episode: Episode, why: str) -> None:
    """A verdict with signals."""
    _close(run, episode)


def _transition_verifying_unscored(run: Run, episode: Episode, why: str) -> None:
    """No verdict is possible, through no doing of the policy."""
    episode.reason = why
    _close(run, episode)


def _transition_scored_grouped(run: Run, episode: Episode, why: str) -> None:
    """The group is complete and worth training; the ledger tells it from the group."""


def _transition_grouped_batched(run: Run, episode: Episode, why: str) -> None:
    """The group is in a batch; the ledger tells it from the group."""


def _transition_batched_trained(run: Run, episode: Episode, why: str) -> None:
    """The batch is committed."""
    run.counts.trained += 1
    _end(run, episode)


def _transition_verified_evaluated(run: Run, episode: Episode, why: str) -> None:
    """An evaluation's episode is done, scored or not."""
    run.counts.evaluated += 1
    _end(run, episode)


def _transition_any_dropped(run: Run, episode: Episode, why: str) -> None:
    """The episode ends untrained, for a reason that is counted."""
    if episode.story[-1][0] in _OPEN:
        _close(run, episode)
    episode.reason = why
    run.counts.dropped[why] = run.counts.dropped.get(why, 0) + 1
    run.wasted_tokens += episode.tokens
    _end(run, episode)


_TRANSITIONS: dict[tuple[State, State], _Transition] = {
    ("planned", "rolling"): _transition_planned_rolling,
    ("rolling", "planned"): _transition_rolling_planned,
    ("rolling", "rolled"): _transition_rolling_rolled,
    ("planned", "rolled"): _transition_planned_rolled,
    ("rolled", "planned"): _transition_rolled_planned,
    ("rolled", "verifying"): _transition_rolled_verifying,
    ("verifying", "rolled"): _transition_verifying_rolled,
    ("verifying", "scored"): _transition_verifying_scored,
    ("verifying", "unscored"): _transition_verifying_unscored,
    # Late answers of verify leases that had expired.
    ("rolled", "scored"): _transition_verifying_scored,
    ("rolled", "unscored"): _transition_verifying_unscored,
    ("scored", "grouped"): _transition_scored_grouped,
    ("grouped", "batched"): _transition_grouped_batched,
    ("batched", "trained"): _transition_batched_trained,
    ("scored", "evaluated"): _transition_verified_evaluated,
    ("unscored", "evaluated"): _transition_verified_evaluated,
    **{
        (state, "dropped"): _transition_any_dropped
        for state in ("planned", "rolling", "rolled", "verifying", "scored", "unscored", "grouped")
    },
}

assert not any(before in ENDED for before, _ in _TRANSITIONS)
