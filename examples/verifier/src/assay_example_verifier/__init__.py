"""An Assay verifier: are the citations of an answer real?"""

from collections.abc import Sequence

import assay
from assay_example_verifier.citation import check


@assay.hookimpl
def assay_verifiers() -> Sequence[object]:
    """Offer `citation.check`."""
    return (check,)
