"""An Assay judge: servers that speak the Messages API. See `judge` for the judge itself."""

from collections.abc import Sequence

import assay
from assay.core.leaf import Factory

MESSAGES = Factory("messages", "assay_example_judge.judge:MessagesJudge", "A server that speaks the Messages API.")


@assay.hookimpl
def assay_judges() -> Sequence[Factory]:
    """Offer `messages`."""
    return (MESSAGES,)


@assay.hookimpl
def assay_config_dirs() -> Sequence[str]:
    """Offer `conf/judge/messages.yaml`."""
    return ("assay_example_judge/conf",)
