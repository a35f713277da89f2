"""Rules as the coordinator asks them."""

import importlib.metadata
import sys
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from assay.core.error import ConfigError, PluginError
from assay.core.stage_rule import Mean, StageView
from assay.dsl.expr.node import Expr, strip
from assay.dsl.expr.parse import parse_expression
from assay.runtime.run.rule import Admit, Rule, Until, last_step


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
    assert expected == Rule(parse(text)).holds(view(step, math={"pass_rate": 0.6, "reward": 1.0}))


@pytest.mark.parametrize("text", ["math.pass_rate > 0.5", "not math.pass_rate > 0.5", "1 / math.reward > 0"])
def test_rule_about_what_nobody_measured_is_not_fulfilled(text: str) -> None:
    assert not Rule(parse(text)).holds(view(5))
    assert not Rule(parse(text)).holds(view(5, math={}))


@pytest.mark.parametrize("text", ["math.pass_rate > 0.5 or step > 3", "step > 3 or math.pass_rate > 0.5"])
def test_an_unknown_part_does_not_hide_the_others(text: str) -> None:
    assert Rule(parse(text)).holds(view(5))
    assert not Rule(parse(text)).holds(view(2))
    assert Rule(parse(text)).holds(view(2, math={"pass_rate": 0.6}))


def test_division_by_zero_fulfils_nothing() -> None:
    assert not Rule(parse("1 / math.reward > 0")).holds(view(5, math={"reward": 0.0}))


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


class Third:
    """Over at its third look; remembers a tuple."""

    def __init__(self, signal: Mean, count: int = 3) -> None:
        self.signal, self.count = signal, count

    def look(self, view: StageView, memory: Any) -> tuple[bool, Any]:
        assert memory is None or isinstance(memory, list)
        looks = (1 if memory is None else memory[0] + 1, "seen")
        return looks[0] >= self.count, looks


class Broken:
    """Raises, answers with a word, or remembers what JSON cannot say."""

    def __init__(self, how: str) -> None:
        self.how = how

    def look(self, view: StageView, memory: Any) -> tuple[bool, Any]:
        if self.how == "raise":
            raise ValueError("oops")
        if self.how == "word":
            return "no", None  # type: ignore[return-value]
        return False, {"what": object()}


VERSION = importlib.metadata.version("assay-rl")
REFS = {name.lower(): f"assay-rl:{VERSION}:{__name__}:{name}" for name in ("Third", "Broken")}


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or SimpleNamespace(**globals()))


def ends(text: str, looks: int = 6, *, should_restart: bool = False) -> int | None:
    """Return the step at which a stage ends; with a new object at every step where the coordinator is restarted."""
    until, memory = Until(parse(text), REFS), None
    for step in range(1, looks + 1):
        if should_restart:
            until = Until(parse(text), REFS)
            memory = msgspec.json.decode(msgspec.json.encode(memory))
        over, memory = until.look(view(step, math={"pass_rate": 0.6}), memory)
        if over:
            return step
    return None


@pytest.mark.parametrize("should_restart", [False, True])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("third(math.pass_rate)", 3),
        ("third(math.pass_rate, count=5) or step >= 4", 4),
        ("third(math.pass_rate) and step >= 5", 5),
        ("third(math.pass_rate) and third(math.pass_rate, count=4)", 4),
        ("step >= 9 or (third(math.pass_rate, 2) and math.pass_rate > 0.5)", 2),
        ("third(math.pass_rate) and math.pass_rate > 0.7", None),
    ],
)
def test_stage_rules_take_part_in_a_condition(text: str, expected: int | None, should_restart: bool) -> None:
    assert expected == ends(text, should_restart=should_restart)


@pytest.mark.parametrize("how", ["raise", "object", "word"])
def test_a_rule_that_breaks_names_its_distribution_and_its_call(how: str) -> None:
    with pytest.raises(PluginError, match=rf"at assay-rl {VERSION}, broken\('{how}'\)"):
        Until(parse(f"broken('{how}') or step >= 9"), REFS).look(view(1), None)


def test_a_rule_that_refuses_its_arguments_names_its_distribution() -> None:
    with pytest.raises(PluginError, match="a stage rule must take its arguments, got TypeError"):
        Until(parse("third(math.pass_rate, size=3)"), REFS)
