"""An Assay engine: the embedded one, with a meter and a speed limit."""

from collections.abc import Sequence

import assay
from assay.core.leaf import Factory

METERED = Factory("metered", "assay_example_engine.engine:MeteredEngine", "Embedded, counted and limited in speed.")


@assay.hookimpl
def assay_engines() -> Sequence[Factory]:
    """Offer `metered`."""
    return (METERED,)


@assay.hookimpl
def assay_config_dirs() -> Sequence[str]:
    """Offer `conf/engine/metered.yaml`."""
    return ("assay_example_engine/conf",)
