"""The audit finds what it is there to find, is silent where nothing is, and hangs on nothing but the verdicts."""

import random
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from audit_stream import RIGHT, SMALL, Made, Play, Policy, audit, feed, groups, honest, told
from hypothesis import given
from hypothesis import strategies as st

from assay.runtime.audit.stream import Audit
from assay.runtime.audit.threshold import Thresholds

INVALID, STEPS, PART = "process.invalid", "efficiency.steps", "outcome.part"


def by(policy: Policy, num: int = 256, terms: tuple[str, ...] = (RIGHT,), **options: Any) -> list[str]:
    return told(feed(audit(terms, part=(0.0, 1.0)), groups(policy, num, **options)))


def paid_by_length(weight: float) -> Policy:
    def policy(group: int, dice: random.Random) -> Made:
        made = honest(group, dice)
        return Made({RIGHT: made.terms[RIGHT] + weight * made.tokens / 100}, tokens=made.tokens, success=False)

    return policy


def test_reward_that_pays_length_is_found_once() -> None:
    assert ["+length"] == by(paid_by_length(1.0))


def test_reward_that_barely_pays_length_is_not() -> None:
    assert [] == by(paid_by_length(0.05))


def test_rambling_until_the_limit_is_no_reward_for_brevity() -> None:
    def rambles(group: int, dice: random.Random) -> Made:
        made = honest(group, dice)
        is_lost = made.terms[RIGHT] == 0.0
        return Made(made.terms, tokens=1024 if is_lost else made.tokens, is_truncated=is_lost)

    def rambles_on(group: int, dice: random.Random) -> Made:
        made = rambles(group, dice)
        return Made(made.terms, tokens=made.tokens)

    assert [] == by(rambles)
    assert ["+length"] == by(rambles_on)


def test_policy_that_runs_into_the_limit_because_length_is_paid_is_found() -> None:
    def capped(group: int, dice: random.Random) -> Made:
        tokens = min(64, honest(group, dice).tokens)
        return Made({RIGHT: tokens / 100}, tokens=tokens, is_truncated=tokens == 64, success=False)

    assert ["+length"] == by(capped)


def test_rare_slips_that_are_short_and_wrong_are_no_reward_for_length() -> None:
    def slips(group: int, dice: random.Random) -> Made:
        is_slip = group % 5 == 0 and dice.random() < 0.3
        right = not is_slip if group % 5 == 0 else dice.random() < 0.5
        return Made({RIGHT: float(right)}, tokens=3 if is_slip else 5)

    assert [] == told(feed(audit(at=Thresholds()), groups(slips, 512)))


def test_turns_are_judged_where_they_vary() -> None:
    def chatty(group: int, dice: random.Random) -> Made:
        turns = dice.randint(1, 9)
        return Made({RIGHT: turns / 10 + dice.random() / 10}, turns=turns)

    def quiet(group: int, dice: random.Random) -> Made:
        return Made({RIGHT: dice.random()}, turns=dice.randint(1, 9))

    assert ["+turns"] == by(chatty)
    assert [] == by(quiet)


def with_penalty(size: float) -> Policy:
    def policy(group: int, dice: random.Random) -> Made:
        return Made({RIGHT: float(dice.random() < 0.5), INVALID: -size * dice.random()})

    return policy


def test_penalties_that_outweigh_the_outcome_are_found() -> None:
    assert ["+dominance penalties"] == by(with_penalty(4.0), terms=(RIGHT, INVALID))
    assert [] == by(with_penalty(0.5), terms=(RIGHT, INVALID))


def two_outcomes(rate: float) -> Policy:
    def policy(group: int, dice: random.Random) -> Made:
        return Made({RIGHT: float(dice.random() < 0.5), PART: 0.5 + 0.5 * (dice.random() < rate)})

    return policy


def test_outcome_term_that_makes_all_the_difference_beside_one_declared_as_large_is_found() -> None:
    assert [f"+dominance {RIGHT}"] == by(two_outcomes(0.0), terms=(RIGHT, PART))
    assert [] == by(two_outcomes(0.5), terms=(RIGHT, PART))


def test_outcome_term_beside_a_small_one_may_dominate() -> None:
    stream = groups(two_outcomes(0.0), 256)
    assert [] == told(feed(audit((RIGHT, PART), part=(0.0, 0.1)), stream))


def test_term_that_never_pays_is_found_and_one_that_always_pays_in_full_is_not() -> None:
    def never(group: int, dice: random.Random) -> Made:
        return Made({RIGHT: float(dice.random() < 0.5), PART: 0.0, INVALID: 0.0})

    def always(group: int, dice: random.Random) -> Made:
        return Made({RIGHT: float(dice.random() < 0.5), PART: 1.0, INVALID: 0.0})

    terms = (RIGHT, PART, INVALID)
    small = (0.0, 0.1)
    assert [f"+stuck_term {PART}"] == told(feed(audit(terms, part=small), groups(never, 256)))
    assert [] == told(feed(audit(terms, part=small), groups(always, 256)))


def learning(outcome: float, penalty: float, num: int = 512) -> Policy:
    def policy(group: int, dice: random.Random) -> Made:
        at = group / num
        right = float(dice.random() < 0.3 + outcome * at)
        return Made({RIGHT: right, STEPS: -0.9 * (dice.random() < 0.9 - penalty * at)})

    return policy


def test_penalties_that_shrink_while_the_outcome_stays_are_found() -> None:
    assert ["+flat_outcome"] == by(learning(0.0, 0.8), 512, (RIGHT, STEPS))


def test_outcome_that_rises_with_the_penalties_is_learning() -> None:
    assert [] == by(learning(0.6, 0.8), 512, (RIGHT, STEPS))
    assert [] == by(learning(0.0, 0.0), 512, (RIGHT, STEPS))


def test_solved_tasks_may_become_cheaper() -> None:
    def tidy(group: int, dice: random.Random) -> Made:
        made = learning(0.0, 0.8)(group, dice)
        return Made({RIGHT: float(dice.random() < 0.97), STEPS: made.terms[STEPS]})

    assert [] == [word for word in by(tidy, 512, (RIGHT, STEPS)) if "flat" in word]


def test_groups_without_spread_are_found_at_either_end() -> None:
    assert ["+saturated"] == by(lambda group, dice: Made({RIGHT: 1.0}))
    assert ["+floor"] == by(lambda group, dice: Made({RIGHT: 0.0}))
    assert [] == by(lambda group, dice: Made({RIGHT: float(group % 2)}))


def test_one_answer_to_different_tasks_is_found_and_one_answer_to_one_task_is_not() -> None:
    def constant(group: int, dice: random.Random) -> Made:
        made = honest(group, dice)
        return Made(made.terms, answer=7 if dice.random() < 0.9 else made.answer)

    stream = groups(constant, 256)
    assert ["+same_answer"] == told(feed(audit(), stream))
    assert [] == told(feed(audit(), stream, num_tasks=4))


def test_answers_of_a_small_set_are_no_constant_answer() -> None:
    def yes_or_no(group: int, dice: random.Random) -> Made:
        answer = 1 + (dice.random() < 0.6)
        return Made({RIGHT: float(answer == 1 + random.Random(group).randint(0, 1))}, answer=answer)

    assert [] == by(yes_or_no)


def test_equal_siblings_are_found_unless_they_are_right() -> None:
    def sure(rate: float) -> Policy:
        def policy(group: int, dice: random.Random) -> Made:
            right = float(random.Random(group).random() < rate)
            return Made({RIGHT: right}, answer=group + 1 if dice.random() < 0.99 else 9999 + group)

        return policy

    assert ["+same_siblings"] == by(sure(0.3))
    assert [] == by(sure(0.7))


def test_finding_is_told_once_and_again_after_it_was_over() -> None:
    stream = [*groups(paid_by_length(1.0), 256), *groups(honest, 256, seed=1), *groups(paid_by_length(1.0), 256)]
    alarms = feed(audit(), stream)
    assert ["+length", "-length", "+length"] == told(alarms)
    assert alarms[0].group < 256 <= alarms[1].group < 512 <= alarms[2].group


def test_figure_at_the_edge_is_told_once() -> None:
    def edge(group: int, dice: random.Random) -> Made:
        made = honest(group, dice)
        return Made({RIGHT: made.tokens / 100 + dice.gauss(0.0, 0.5)}, tokens=made.tokens, success=False)

    assert ["+length"] == told(feed(audit(at=Thresholds()), groups(edge, 2048)))


def test_alarm_names_an_episode_that_shows_it() -> None:
    stream = groups(paid_by_length(1.0), 256)
    (alarm,) = feed(audit(), stream)
    by_number = {play.number: play for plays in stream for play in plays}
    shown = by_number[alarm.judgement.episode]
    siblings = stream[shown.number // 8]
    assert shown.reward == max(play.reward for play in siblings)
    assert shown.tokens == max(play.tokens for play in siblings)


def test_what_a_closed_gate_pays_stands_as_a_term_of_its_own() -> None:
    def gated(group: int, dice: random.Random) -> Made:
        return Made({RIGHT: float(dice.random() < 0.5)}, gate=-1.0 if dice.random() < 0.3 else None)

    one = audit()
    feed(one, groups(gated, 128))
    right, gate = one.rows()
    assert (RIGHT, "gate") == (right.name, gate.name)
    assert right.share is not None
    assert gate.share is not None
    assert 1.0 == pytest.approx(right.share + gate.share)
    assert gate.mean == pytest.approx(-0.3, abs=0.05)


def test_shares_of_terms_are_those_of_the_variance_within_groups() -> None:
    def between(group: int, dice: random.Random) -> Made:
        # The part differs between groups alone: no advantage sees it.
        return Made({RIGHT: float(dice.random() < 0.5), PART: group / 100})

    one = audit((RIGHT, PART))
    feed(one, groups(between, 128))
    assert [1.0, 0.0] == pytest.approx([row.share for row in one.rows()])


@pytest.mark.parametrize("seed", range(10))
def test_groups_count_in_the_order_they_were_planned(seed: int) -> None:
    stream = groups(paid_by_length(1.0), 256)
    one, dice = audit(), random.Random(seed)
    numbers = list(range(len(stream)))
    alarms = []
    # A batch of groups is planned, and ends in any order, before the next.
    while numbers:
        batch, numbers = numbers[: (size := dice.randint(1, 40))], numbers[size:]
        for number in batch:
            one.plan(number)
        dice.shuffle(batch)
        for number in batch:
            alarms += one.end(number, number, stream[number])
    assert feed(audit(), stream) == alarms


@given(st.lists(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=6), min_size=8, max_size=8))
def test_no_reward_however_large_or_small_ends_a_run(rewards: list[list[float]]) -> None:
    at = Thresholds(block=1, min_window=1, min_trend=1, min_spread=1, min_tasks=1)
    one = audit((RIGHT, INVALID), at)
    plays = [
        [
            Play(i, value, value > 0, {RIGHT: value, INVALID: -abs(value)}, 1 + i, answer=1)
            for i, value in enumerate(group)
        ]
        for group in rewards
    ]
    feed(one, plays)
    assert 8 == one.total.groups
    assert one.figures()["groups"] == 8
    one.rows()


def test_group_that_was_taken_back_and_one_without_a_score_count_in_nothing() -> None:
    stream = groups(paid_by_length(1.0), 256)
    expected = feed(audit(), stream)
    one = audit()
    alarms = []
    for number, plays in enumerate(stream):
        for extra, end in ((3 * number, one.skip), (3 * number + 1, lambda group: one.end(group, 0, []))):
            one.plan(extra)
            alarms += end(extra)
        one.plan(3 * number + 2)
        alarms += one.end(3 * number + 2, number, plays)
    assert [alarm.judgement for alarm in expected] == [alarm.judgement for alarm in alarms]


def test_group_taken_back_after_it_ended_stays_in() -> None:
    one, other = audit(), audit()
    stream = groups(paid_by_length(1.0), 256)
    for each in (one, other):
        for number in range(2):
            each.plan(number)
        each.end(1, 1, stream[1])
    one.skip(1)
    for each in (one, other):
        each.end(0, 0, stream[0])
        for number in range(2, 256):
            each.plan(number)
            each.end(number, number, stream[number])
    assert one.figures() == other.figures()
    assert 256 == one.total.groups


def test_group_that_never_ends_is_passed_over_and_counts_in_nothing_if_it_ends_after_all() -> None:
    at = msgspec.structs.replace(SMALL, wait=10)
    one, other = audit(at=at), audit(at=at)
    stream = groups(paid_by_length(1.0), 64)
    one.plan(0)
    alarms = []
    for number, plays in enumerate(stream[1:], 1):
        one.plan(number)
        alarms += one.end(number, number, plays)
        assert len(one._ended) <= 10
    alarms += one.end(0, 0, stream[0])
    assert [] == one.skip(0)
    other.plan(0)
    again = other.pass_over(0)
    for number, plays in enumerate(stream[1:], 1):
        other.plan(number)
        again += other.end(number, number, plays)
    assert ["+length"] == told(alarms)
    assert (alarms, one.rows(), one.figures()) == (again, other.rows(), other.figures())
    assert 1 == one.figures()["passed_over"]


def test_memory_does_not_grow_with_the_run() -> None:
    at = Thresholds(block=4, window=4, trend=16, min_window=1, min_trend=2)
    one = audit(at=at)
    feed(one, groups(honest, 64))
    before = _sizes(one)
    feed(one, groups(honest, 640, seed=1))
    assert before == _sizes(one)


def _sizes(one: Audit) -> list[int]:
    window = one.window()
    return [len(one._blocks), len(one._slopes), len(one._order), len(one._ended), len(window.answers) <= 4 * 8]


def noisy(group: int, dice: random.Random) -> Made:
    """Everything varies and nothing means anything."""
    made = honest(group, dice)
    terms = {
        RIGHT: made.terms[RIGHT],
        PART: dice.random(),
        INVALID: -0.2 * min(3, int(dice.expovariate(2.0))),
        STEPS: -0.01 * dice.randint(1, 30) * (made.terms[RIGHT] == 1.0),
    }
    return Made(terms, tokens=made.tokens, turns=dice.randint(1, 5), answer=1 + dice.randint(0, 3))


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 8])
def test_honest_noise_raises_nothing(size: int) -> None:
    """24 runs of 512 groups with four terms, lengths, turns and few answers: no alarm in 1,500 looks."""
    found = []
    for seed in range(24):
        one = audit((RIGHT, PART, INVALID, STEPS), part=(0.0, 1.0))
        found += feed(one, groups(noisy, 512, size=size, seed=seed))
    assert [] == told(found)


def test_play_without_siblings_is_in_the_means_alone() -> None:
    one = audit()
    assert [] == feed(one, ([Play(number, 1.0, True, {RIGHT: 1.0})] for number in range(64)))
    assert (64, 0, 0) == (one.total.groups, one.total.sized, one.total.varied)


def test_thresholds_of_the_tests_are_smaller_blocks_of_the_same_levels() -> None:
    changed = {name for name in Thresholds.__struct_fields__ if getattr(SMALL, name) != getattr(Thresholds(), name)}
    assert {"block", "min_window", "min_trend"} == changed


def test_thresholds_of_the_configuration_are_those_of_the_struct() -> None:
    text = (Path(__file__).parents[3] / "conf" / "audit" / "default.yaml").read_text()
    written = dict(re.findall(r"^(\w+): ([\d.]+)", text, re.M))
    assert {name: str(value) for name, value in msgspec.structs.asdict(Thresholds()).items()} == written
