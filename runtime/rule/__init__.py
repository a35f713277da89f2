"""Stage rules: calls in `until:` that remember what they saw."""

from assay.core.leaf import Factory
from assay.runtime.rule.plateau import Plateau

STAGE_RULES = (Factory("plateau", Plateau, "A signal has not risen for a number of updates."),)
