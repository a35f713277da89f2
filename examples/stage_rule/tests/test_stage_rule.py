"""The rule keeps the contract of stage rules."""

import pytest
from assay_example_stage_rule import MASTERED
from assay_example_stage_rule.mastered import Mastered

from assay.core.error import ConfigError
from assay.core.stage_rule import Mean
from assay.testing import Course, StageRuleContract

TestMastered = StageRuleContract.of(
    MASTERED,
    signals=("a.pass_rate", "b.pass_rate"),
    options={"level": 0.9, "updates": 3},
    cases=[
        Course({"a.pass_rate": [0.9] * 5, "b.pass_rate": [1.0] * 5}, ends=3),
        Course({"a.pass_rate": [0.9, 0.9, 0.8, 0.9, 0.9, 0.9], "b.pass_rate": [1.0] * 6}, ends=6),
        Course({"a.pass_rate": [0.9] * 5, "b.pass_rate": [None, None, None, 1.0, 1.0]}, ends=None),
    ],
)


def test_a_rule_without_a_signal_is_refused() -> None:
    with pytest.raises(ConfigError, match="must have a signal"):
        Mastered()
    with pytest.raises(ConfigError, match="updates of at least 1"):
        Mastered(Mean("a", "pass_rate"), updates=0)
