"""An Assay answer parser: the letter of a multiple-choice answer."""

from collections.abc import Sequence

import assay
from assay_example_parser.choice import choice


@assay.hookimpl
def assay_parsers() -> Sequence[object]:
    """Offer `choice`."""
    return (choice,)
