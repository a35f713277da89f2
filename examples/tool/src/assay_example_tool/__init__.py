"""An Assay tool: an exact calculator."""

from collections.abc import Sequence

import assay
from assay_example_tool.calculator import calculate


@assay.hookimpl
def assay_tools() -> Sequence[object]:
    """Offer `calculate`."""
    return (calculate,)
