"""An Assay stage rule: a stage ends when its signals have stayed high."""

from collections.abc import Sequence

import assay
from assay.core.leaf import Factory
from assay_example_stage_rule.mastered import Mastered

MASTERED = Factory("mastered", Mastered, "All signals have stayed at or above a level for a number of updates.")


@assay.hookimpl
def assay_stage_rules() -> Sequence[Factory]:
    """Offer `mastered`."""
    return (MASTERED,)
