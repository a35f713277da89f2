"""`-m`: one list of overrides per job.

Values of declared keys and of choices are split at the commas outside brackets and quotes; those of other keys by
Hydra's own sweep grammar (`a,b`, `choice(a,b)`, `range(1,4)`). Jobs come in the order of nested loops over the
overrides, the last one fastest, as Hydra's basic sweeper orders them.
"""

from collections.abc import Sequence
from itertools import product

from assay.dsl.source.diagnostic import Finding, finding
from assay.runtime.config.override import Override, split_commas

# More jobs than this are a slip of the pen.
MAX_JOBS = 10_000


def expand(overrides: Sequence[Override]) -> tuple[list[list[Override]], list[Finding]]:
    """Return the overrides of each job, and a finding for each value that cannot be swept over."""
    choices: list[list[Override]] = []
    findings: list[Finding] = []
    count = 1
    for override in overrides:
        values, found = _values(override)
        findings += found
        choices.append([override] if len(values) < 2 else [override.with_value(value) for value in values])
        count *= len(choices[-1])
        if count > MAX_JOBS:
            message = f"a sweep must have at most {MAX_JOBS} jobs, got {count} so far"
            return [], [*findings, finding("CF001", override.value_span, message)]
    return [list(job) for job in product(*choices)], findings


def _values(override: Override) -> tuple[list[str], list[Finding]]:
    if override.value is None:
        return [], []
    if override.target != "setting":
        values = split_commas(override.value)
        if len(values) > 1 and "" in values:
            message = f"a value of a sweep must not be empty, got {override.value!r}"
            return [], [finding("CF001", override.value_span, message, "quote a comma that is part of the value")]
        return values, []
    return _hydra_values(override)


def _hydra_values(override: Override) -> tuple[list[str], list[Finding]]:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import ValueType
    from hydra.errors import HydraException

    try:
        parsed = OverridesParser.create().parse_override(override.text)
        if not parsed.is_sweep_override():
            return [], []
        if parsed.value_type == ValueType.SIMPLE_CHOICE_SWEEP:
            # As typed: Hydra would hand back 1e-3 as 0.001.
            return split_commas(override.value or ""), []
        if not parsed.is_discrete_sweep():
            raise HydraException("an interval has no list of values")
        return list(parsed.sweep_string_iterator()), []
    except HydraException as error:
        reason = str(error).splitlines()[0]
        return [], [finding("CF001", override.value_span, f"a value must be one that Hydra reads: {reason}")]
