"""Every clause of the contract of stage rules turns red for a rule that breaks it."""

import sys
import time
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from red import breaks

from assay.core.stage_rule import Mean, StageView
from assay.runtime.testing.stage_rule import Course, StageRuleContract

CASES = [Course({"a.pass_rate": [0.5] * 4}, 3), Course({"a.pass_rate": [0.5] * 2}, None)]


class Third:
    """Ends its stage at the third look."""

    def __init__(self, signal: Mean) -> None:
        self.signal = signal

    def look(self, view: StageView, memory: Any) -> Any:
        count = (memory or 0) + 1
        return count >= 3, count


class Spelled(Third):
    """Wants the name of its signal as a text."""

    def __init__(self, signal: str) -> None:
        super().__init__(signal)  # type: ignore[arg-type]


class Hidden(Third):
    """Counts where no ledger sees it."""

    count = 0

    def look(self, view: StageView, memory: Any) -> Any:
        self.count += 1
        return self.count >= 3, None


class Tuple(Third):
    """Remembers what JSON gives back as something else."""

    def look(self, view: StageView, memory: Any) -> Any:
        count = memory[0] + 1 if isinstance(memory, tuple) else 1
        return count >= 3, (count,)


class Changing(Third):
    def look(self, view: StageView, memory: Any) -> Any:
        memory = memory or {"count": 0}
        memory["count"] += 1
        return memory["count"] >= 3, memory


class Number(Third):
    def look(self, view: StageView, memory: Any) -> Any:
        over, memory = super().look(view, memory)
        return int(over), memory


class Trusting(Third):
    def look(self, view: StageView, memory: Any) -> Any:
        return super().look(view, memory) if view.means["a"]["pass_rate"] >= 0 else (False, memory)


class Once(Third):
    def look(self, view: StageView, memory: Any) -> Any:
        count = (memory or 0) + 1
        return count == 3, count


class Hoarding(Third):
    def look(self, view: StageView, memory: Any) -> Any:
        seen = [*(memory or []), [view.step, self.signal.of(view), "x" * 60]]
        return len(seen) >= 3, seen


class Slow(Third):
    def look(self, view: StageView, memory: Any) -> Any:
        until_s = time.perf_counter() + 0.0005
        while time.perf_counter() < until_s:
            pass
        return super().look(view, memory)


@pytest.mark.parametrize(
    ("clause", "target", "must", "attributes"),
    [
        (
            "test_cases_end_where_they_must",
            Third,
            "must end at 2",
            {"cases": [Course({"a.x": [1.0] * 4}, 2), CASES[1]]},
        ),
        ("test_cases_end_where_they_must", Third, "must have a case that ends", {"cases": CASES[:1]}),
        ("test_a_curriculum_can_call_it", Spelled, "`until: wrong(a.pass_rate)` must hold", {}),
        ("test_a_curriculum_can_call_it", Third, "must hold", {"options": {"level": 1}}),
        ("test_it_goes_on_after_a_kill_as_if_nothing_had_happened", Hidden, "at the same step after a kill", {}),
        ("test_it_goes_on_after_a_kill_as_if_nothing_had_happened", Tuple, "at the same step after a kill", {}),
        ("test_the_same_look_says_the_same", Hidden, "must say the same for the same look", {}),
        ("test_the_same_look_says_the_same", Changing, "must leave what it is shown", {}),
        ("test_it_answers_with_a_truth", Number, "must return a bool", {}),
        ("test_what_nobody_measured_is_no_fault", Trusting, "must not raise", {}),
        ("test_an_end_stays_an_end", Once, "must not go on", {}),
        ("test_it_remembers_little_and_is_quick", Hoarding, "must remember at most 16384 bytes", {}),
        ("test_it_remembers_little_and_is_quick", Slow, "a look must take at most 0.0002 s", {"look_s": 2e-4}),
    ],
)
def test_a_wrong_rule_turns_its_clause_red(clause: str, target: Any, must: str, attributes: dict[str, Any]) -> None:
    given = {"signals": ("a.pass_rate",), "cases": CASES, **attributes}
    assert must in breaks(StageRuleContract, clause, target, **given)


def test_an_end_that_may_pass_is_not_asked_to_stay() -> None:
    assert ("test_an_end_stays_an_end",) == StageRuleContract.of(Third, is_final=False).left_out()
