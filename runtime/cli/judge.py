"""Words that choose a judge, for verbs that take no whole configuration: `judge=NAME` and `judge.KEY=VALUE`."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from assay.core.error import SourceError
from assay.core.registry import Registry
from assay.dsl.source.diagnostic import render
from assay.runtime.config.override import read_overrides

HELP = "judge=NAME or judge.KEY=VALUE, as for `assay train`"
_WORD = re.compile(r"(\+\+|\+|~)?judge[.=]")


def part_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words that are no overrides of the judge, and those that are.

    Example:
        >>> part_words(["essay", "judge=openai", "judge.retries=1"])
        (['essay'], ['judge=openai', 'judge.retries=1'])
    """
    chosen = [word for word in words if _WORD.match(word)]
    return [word for word in words if word not in chosen], chosen


def read_judge(texts: Sequence[str], registry: Registry) -> dict[str, Any]:
    """Return the settings of the group `judge` under overrides; `none` where there are none.

    Raises:
        SourceError: an override has findings.
    """
    if not texts:
        return {"name": "none", "options": {}}
    from assay.runtime.config.composition import compose

    overrides, findings = read_overrides(texts)
    composition = compose(overrides, registry)
    faults = [one for one in (*findings, *composition.findings) if one.severity == "error"]
    if faults or composition.settings is None:
        shown = "\n\n".join(render(one) for one in faults)
        raise SourceError(f"a judge must be one that can be asked\n\n{shown}", findings=tuple(faults))
    settings: dict[str, Any] = msgspec.to_builtins(composition.settings.judge)
    return settings
