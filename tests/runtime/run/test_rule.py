"""Rules as the coordinator asks them."""

import pytest

from assay.core.error import ConfigError
from assay.core.scheduler import StageView
from assay.dsl.expr.node import Expr, strip
from assay.dsl.expr.parse import parse_expression
from assay.runtime.run.rule import Admit, Rule, last_step


def parse(text: str) -> Expr:
    node, faults = parse_expression(text)
    assert node is not None and not faults
    return strip(node)


def view(step: int, **means: dict[str, float]) -> StageView:
    return StageView(step, step, means)


@pytest.mark.parametrize(
    ("text", "step", "expected"),
    [
        ("step >= 10", 9, False),
        ("step >= 10", 10, True),
        ("10 <= step < 12", 11, True),
        ("math.pass_rate > 0.5", 0, True),
        ("math.pass_rate > 0.5 and step >= 3", 2, False),
        ("not math.pass_rate > 0.5 or math.reward - 1 == 0", 0, True),
        ("(step if math.pass_rate > 0.5 else 0) >= 4", 5, True),
    ],
)
def test_rule_is_what_it_says(text: str, step: int, expected: bool) -> None:
    assert expected == Rule(parse(text)).is_over(view(step, math={"pass_rate": 0.6, "reward": 1.0}))


@pytest.mark.parametrize("text", ["math.pass_rate > 0.5", "not math.pass_rate > 0.5", "1 / math.reward > 0"])
def test_rule_about_what_nobody_measured_is_not_fulfilled(text: str) -> None:
    assert not Rule(parse(text)).is_over(view(5))
    assert not Rule(parse(text)).is_over(view(5, math={}))


@pytest.mark.parametrize("text", ["math.pass_rate > 0.5 or step > 3", "step > 3 or math.pass_rate > 0.5"])
def test_an_unknown_part_does_not_hide_the_others(text: str) -> None:
    assert Rule(parse(text)).is_over(view(5))
    assert not Rule(parse(text)).is_over(view(2))
    assert Rule(parse(text)).is_over(view(2, math={"pass_rate": 0.6}))


def test_division_by_zero_fulfils_nothing() -> None:
    assert not Rule(parse("1 / math.reward > 0")).is_over(view(5, math={"reward": 0.0}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("step >= 800", 800), ("step > 800", 801), ("step >= 800 and math.reward > 1", None), ("math.reward > 1", None)],
)
def test_only_a_bare_number_of_steps_is_a_known_length(text: str, expected: int | None) -> None:
    assert expected == last_step(parse(text))


def test_stage_without_a_rule_has_no_last_step() -> None:
    assert last_step(None) is None


@pytest.mark.parametrize(
    ("text", "rewards", "expected"),
    [
        ("spread(reward) > 0", [1.0, 1.0], False),
        ("spread(reward) > 0", [0.0, 1.0], True),
        ("mean(reward) < 0.9 and spread(reward) > 0.2", [0.0, 1.0], True),
        ("mean(reward) >= 0.95", [0.0, 1.0], False),
    ],
)
def test_group_is_admitted_by_its_rewards(text: str, rewards: list[float], expected: bool) -> None:
    assert expected == Admit(parse(text))(rewards)


def test_admission_by_anything_else_is_refused() -> None:
    with pytest.raises(ConfigError, match="must name nothing but `reward`"):
        Admit(parse("step > 3"))([0.0, 1.0])
