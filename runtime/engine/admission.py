"""Which waiting prompts join now, in which rows, and what each need not compute again."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.core.engine import GenerateRequest
from assay.runtime.engine.table import Table

Prompt = tuple[GenerateRequest, NDArray[np.int32]]


class Admission(msgspec.Struct):
    """One distinct prompt that joins.

    Attributes:
        row: Of the first request with this prompt.
        requests: All requests with this prompt; those after the first get rows after those of all distinct prompts.
        prompt: Its tokens; int32, shape (P,).
        donor: Row whose keys and values it starts from; -1 for none.
        shared: Positions it takes from there.
    """

    row: int
    requests: list[GenerateRequest]
    prompt: NDArray[np.int32]
    donor: int
    shared: int


def plan_admissions(
    table: Table, prompts: Sequence[Prompt], epoch: int, min_shared: int
) -> tuple[list[Admission], list[Prompt]]:
    """Give rows to distinct prompts; further requests and donors are noted.

    Args:
        table: Rows; the distinct prompts are added.
        prompts: Waiting requests; there is room for all of them.
        epoch: Weights that a donor's keys must come from.
        min_shared: Shorter prefixes are not worth a copy; 0 shares between identical prompts only.

    Returns:
        Admissions in row order, and the prompts that wait until one of these rows is filled, to start from it.
    """
    first = table.num_active
    admissions: list[Admission] = []
    by_prompt: dict[bytes, Admission | list[Prompt]] = {}
    deferred: list[Prompt] = []
    for request, prompt_P in prompts:
        key = prompt_P.tobytes()
        known = by_prompt.get(key)
        if isinstance(known, Admission):
            known.requests.append(request)
            continue
        if known is not None:
            deferred.append((request, prompt_P))
            continue
        donor, shared = -1, 0
        if min_shared and len(prompt_P) > min_shared:
            # The last token is always computed: its scores are what the first sample needs.
            donor, shared = table.match(prompt_P[:-1], epoch)
            if shared < min_shared:
                donor, shared = -1, 0
        if first <= donor < table.max_active:
            by_prompt[key] = []
            deferred.append((request, prompt_P))
            continue
        row = table.add(prompt_P, epoch)
        by_prompt[key] = admission = Admission(row, [request], prompt_P, donor, shared)
        admissions.append(admission)
    return admissions, deferred
