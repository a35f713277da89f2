"""An Assay domain: read a receipt into JSON."""

from collections.abc import Sequence

import assay


@assay.hookimpl
def assay_domains() -> Sequence[assay.DomainFile]:
    """Offer every file under `conf/domain/`."""
    return assay.domain_files(__name__)
