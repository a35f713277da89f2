"""Parsers of answers."""

import assay


@assay.parser("reasoning_gym.last_line", version=1)
def last_line(text: str) -> str | None:
    """Return the last line that is not blank, so that a policy may think before it answers; None where all are."""
    text = text.rstrip()
    return text[text.rfind("\n") + 1 :].strip() or None
