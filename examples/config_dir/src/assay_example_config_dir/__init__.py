"""Settings of a team for Assay, as files that runs choose."""

from collections.abc import Sequence

import assay


@assay.hookimpl
def assay_config_dirs() -> Sequence[str]:
    """Offer `conf/`."""
    return ("assay_example_config_dir/conf",)
