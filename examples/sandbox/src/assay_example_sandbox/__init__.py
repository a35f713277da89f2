"""An Assay sandbox backend: copies of a project folder, with snapshots."""

from collections.abc import Sequence

import assay
from assay_example_sandbox.folders import Folders


@assay.hookimpl
def assay_sandboxes() -> Sequence[object]:
    """Offer `folders`."""
    return (Folders(),)
