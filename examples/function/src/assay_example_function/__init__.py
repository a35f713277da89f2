"""An Assay function for expressions: a reward that halves at regular steps."""

from collections.abc import Sequence

import assay
from assay_example_function.half_life import half_life


@assay.hookimpl
def assay_functions() -> Sequence[object]:
    """Offer `half_life`."""
    return (half_life,)
