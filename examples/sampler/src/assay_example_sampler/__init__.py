"""An Assay sampler: tasks that are about to be learned, with a floor for all."""

from collections.abc import Sequence

import assay
from assay.core.leaf import Factory
from assay_example_sampler.frontier import Frontier

FRONTIER = Factory("frontier", Frontier, "Tasks that are solved about half of the time, and those hardly known.")


@assay.hookimpl
def assay_samplers() -> Sequence[Factory]:
    """Offer `frontier`."""
    return (FRONTIER,)
