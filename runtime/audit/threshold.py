"""When a finding of the audit is raised and when it is over: every number of it, in one place.

Findings are raised at one value and cleared at a looser one, so that a figure at the edge is told once. The values
stand in `conf/audit/`; those here are the same and serve where no configuration is.
"""

from typing import Annotated

import msgspec

from assay.core.error import ConfigError

Positive = Annotated[int, msgspec.Meta(ge=1)]
Part = Annotated[float, msgspec.Meta(ge=0, le=1)]
Above0 = Annotated[float, msgspec.Meta(gt=0)]


class Thresholds(msgspec.Struct, frozen=True):
    """Windows and levels.

    Attributes:
        block: Groups between two looks.
        window: Blocks that levels are judged by.
        min_window: Blocks before which no level is judged.
        trend: Blocks that trends are judged by, at most.
        min_trend: Blocks before which no trend is judged.
        wait: Groups that may end before one that was planned earlier; then that one is passed over.
        min_spread: Fewest groups whose rewards differ, or whose lengths do, for a share or a correlation.
        noise: Standard errors that a figure must lie away from no effect.
        dominance: Share of within-group variance that one outcome term makes while another declared large makes none.
        penalties: Share of within-group variance that process and efficiency make together.
        length: Mean within-group correlation of reward and length, either sign.
        saturation: Share of groups without spread, all solved or none.
        same_answer: Share of answers that are one and the same over different tasks.
        min_tasks: Fewest different tasks with that answer.
        same_siblings: Share of equal pairs of answers inside groups, while most are not solved.
        rise: Rise of penalties over the trend, in standard deviations of the reward within groups.
        relief: A finding is over once its figure is below this part of what raised it.
    """

    block: Positive = 32
    window: Positive = 8
    min_window: Positive = 2
    trend: Positive = 64
    min_trend: Positive = 8
    wait: Positive = 4096
    min_spread: Positive = 48
    noise: Above0 = 4.0
    dominance: Part = 0.95
    penalties: Part = 0.6
    length: Part = 0.5
    saturation: Part = 0.95
    same_answer: Part = 0.8
    min_tasks: Positive = 24
    same_siblings: Part = 0.95
    rise: Above0 = 0.2
    relief: Part = 0.7

    def __post_init__(self) -> None:
        """Refuse what would never be looked at.

        Raises:
            ConfigError: more blocks are asked for than are kept; `at` is the key to point at.
        """
        for least, most in (("min_window", "window"), ("min_trend", "trend")):
            if getattr(self, least) > getattr(self, most):
                must = f"audit.{least} must be at most audit.{most}, which is {getattr(self, most)}"
                raise ConfigError(must, got=getattr(self, least), at=f"audit.{least}")
