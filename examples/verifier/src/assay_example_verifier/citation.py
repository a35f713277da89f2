"""`citation.check(passages)`: citations such as [2], compared with the passages there are."""

import re
from typing import Annotated

import assay

_CITATION = re.compile(r"\[([1-9][0-9]{0,3})\]", re.ASCII)


class Citations(assay.Signals, frozen=True):
    """How an answer cites."""

    cited: Annotated[int, assay.signal(ge=0, unit="passages", doc="different passages cited, real ones only")]
    invented: Annotated[int, assay.signal(ge=0, unit="passages", better="down", doc="cited, but not given")]
    coverage: Annotated[float, assay.signal(ge=0, le=1, better="up", doc="share of the passages that is cited")]


@assay.verifier("citation.check", version=1, cost="1ms", timeout="2s")
def check(answer: str | None, passages: list[str]) -> Citations:
    """Count citations; a passage cited twice counts once."""
    numbers = {int(number) for number in _CITATION.findall(answer or "")}
    real = {number for number in numbers if number <= len(passages)}
    return Citations(
        cited=len(real),
        invented=len(numbers) - len(real),
        coverage=len(real) / len(passages) if passages else 0.0,
    )
