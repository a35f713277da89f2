"""An Assay scheduler: short work first, and nobody waits for ever."""

from collections.abc import Sequence

import assay
from assay.core.leaf import Factory
from assay_example_scheduler.shortest import Shortest

SHORTEST = Factory("shortest", Shortest, "Short work comes first, and what has waited long.")


@assay.hookimpl
def assay_schedulers() -> Sequence[Factory]:
    """Offer `shortest`."""
    return (SHORTEST,)


@assay.hookimpl
def assay_config_dirs() -> Sequence[str]:
    """Offer `scheduler=shortest`."""
    return ("assay_example_scheduler/conf",)
