"""An Assay algorithm: REINFORCE with a leave-one-out baseline."""

from collections.abc import Sequence

import assay
from assay.core.leaf import Factory
from assay_example_algorithm.rloo import Rloo

RLOO = Factory("rloo", Rloo, "A reward counts by how much it exceeds the mean of its siblings'.")


@assay.hookimpl
def assay_algorithms() -> Sequence[Factory]:
    """Offer `rloo`."""
    return (RLOO,)


@assay.hookimpl
def assay_config_dirs() -> Sequence[str]:
    """Offer `algorithm=rloo`."""
    return ("assay_example_algorithm/conf",)
