"""The built-in stage rule keeps the contract that plugins are held to."""

from assay.runtime.rule import STAGE_RULES
from assay.testing import Course, StageRuleContract

(PLATEAU,) = STAGE_RULES

TestPlateau = StageRuleContract.of(
    PLATEAU,
    signals=("math.pass_rate",),
    options={"patience": 3, "min_gain": 0.05},
    cases=[
        Course({"math.pass_rate": [None, 0.5, 0.52, 0.54, 0.54]}, ends=5),
        Course({"math.pass_rate": [0.1, 0.2, 0.3, 0.3, 0.3, 0.4, 0.4, 0.4]}, ends=None),
    ],
)
