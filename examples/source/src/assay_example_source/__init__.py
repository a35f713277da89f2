"""An Assay source: one JSON Lines file, with a part of it held out."""

from collections.abc import Sequence

import assay
from assay_example_source.held_out import jsonl


@assay.hookimpl
def assay_sources() -> Sequence[object]:
    """Offer `held_out.jsonl`."""
    return (jsonl,)
