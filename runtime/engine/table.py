"""What the engine knows of every row, as columns: a step reads and writes all active rows at once.

Rows 0 to `num_active` are requests that sample; the rows from `max_active` on keep finished ones, whose keys and
values a later prompt may begin with. The rest is free. Nothing here knows torch.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.core.engine import GenerateRequest

_MAX_STOPS = 8


class Table:
    """Columns of all rows.

    Args:
        max_active: Requests that sample at once.
        max_retained: Finished rows to keep.
        max_context: Positions of a row.

    Attributes:
        request_id: Whose row it is.
        length: Positions whose keys and values are in the cache, or will be before the next row is added.
        prompt: Tokens of the prompt.
        count: Tokens sampled.
        limit: Most tokens to sample, room included.
        temperature, top_p, seed: Of the request.
        stop: Stop ids, -1 where there are fewer.
        epoch: Weights under which all keys and values of the row were computed; -1 once they are mixed or gone.
        used: Clock of the last use of a retained row.
        tokens: Prompt and sample; int32, shape (rows, max_context).
        logprobs, versions: Of sampled tokens, at the token's position.
    """

    def __init__(self, max_active: int, max_retained: int, max_context: int) -> None:
        rows = max_active + max_retained
        self.max_active = max_active
        self.max_retained = max_retained
        self.num_active = 0
        self.request_id = np.zeros(rows, np.int64)
        self.length = np.zeros(rows, np.int64)
        self.prompt = np.zeros(rows, np.int64)
        self.count = np.zeros(rows, np.int64)
        self.limit = np.zeros(rows, np.int64)
        self.temperature = np.zeros(rows, np.float32)
        self.top_p = np.ones(rows, np.float32)
        self.seed = np.zeros(rows, np.uint64)
        self.stop = np.full((rows, _MAX_STOPS), -1, np.int32)
        self.epoch = np.full(rows, -1, np.int64)
        self.used = np.zeros(rows, np.int64)
        self.tokens = np.zeros((rows, max_context), np.int32)
        self.logprobs = np.zeros((rows, max_context), np.float32)
        self.versions = np.zeros((rows, max_context), np.int64)
        self._clock = 0

    @property
    def num_free(self) -> int:
        """Requests that still fit."""
        return self.max_active - self.num_active

    def add(self, prompt_P: NDArray[np.int32], epoch: int, count: int = 1) -> int:
        """Give the next rows to as many requests of one prompt; return the first. `assign` says whose they are."""
        row, end = self.num_active, self.num_active + count
        self.num_active = end
        self.tokens[row:end, : len(prompt_P)] = prompt_P
        self.prompt[row:end] = self.length[row:end] = len(prompt_P)
        self.epoch[row:end] = epoch
        return row

    def assign(self, first: int, requests: Sequence[GenerateRequest]) -> None:
        """Write ids and sampling of the requests in the rows from `first` on."""
        rows = slice(first, first + len(requests))
        sampling = [request.sampling for request in requests]
        self.request_id[rows] = [request.request_id for request in requests]
        self.count[rows] = 0
        room = self.tokens.shape[1] - self.prompt[rows]
        self.limit[rows] = np.minimum([min(chosen.max_tokens, self.tokens.shape[1]) for chosen in sampling], room)
        self.temperature[rows] = [chosen.temperature for chosen in sampling]
        self.top_p[rows] = [chosen.top_p for chosen in sampling]
        self.seed[rows] = [chosen.seed & 0xFFFFFFFFFFFFFFFF for chosen in sampling]
        if (most := max(len(chosen.stop_ids) for chosen in sampling)) > self.stop.shape[1]:
            self.stop = np.pad(self.stop, ((0, 0), (0, most - self.stop.shape[1])), constant_values=-1)
        width = self.stop.shape[1]
        self.stop[rows] = [(*chosen.stop_ids, *(-1,) * (width - len(chosen.stop_ids))) for chosen in sampling]

    def record(
        self, first: int, end: int, tokens_B: NDArray[np.int32], logprobs_B: NDArray[np.float32], version: int
    ) -> NDArray[np.int64]:
        """Append one sampled token to each of some rows; return the rows that are done."""
        rows = np.arange(first, end)
        positions = self.prompt[first:end] + self.count[first:end]
        self.tokens[rows, positions] = tokens_B
        self.logprobs[rows, positions] = logprobs_B
        self.versions[rows, positions] = version
        self.count[first:end] += 1
        is_done = self.count[first:end] >= self.limit[first:end]
        is_done |= (self.stop[first:end] == tokens_B[:, None]).any(1)
        return rows[is_done]

    def are_stopped(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether the last token of each row is one of its stop ids."""
        last = self.tokens[rows, self.prompt[rows] + self.count[rows] - 1]
        return (self.stop[rows] == last[:, None]).any(1)

    def match(self, prompt_P: NDArray[np.int32], epoch: int) -> tuple[int, int]:
        """Return the row that shares the longest prefix with a prompt, and its length.

        Rows under other weights do not count, nor positions that are not in the cache; a row that was just added
        counts as if it were filled.
        """
        used = np.flatnonzero(self.epoch == epoch)
        if not len(used):
            return -1, 0
        is_equal = self.tokens[used, : len(prompt_P)] == prompt_P
        shared = np.where(is_equal.all(1), len(prompt_P), is_equal.argmin(1))
        shared = np.minimum(shared, self.length[used])
        best = int(shared.argmax())
        return int(used[best]), int(shared[best])

    def retain(self, row: int) -> int | None:
        """Return the retained row to overwrite with a finished one; None where its tokens are kept already.

        The row that it goes on from comes first, then an unused one, then the one unused for longest.
        """
        kept = slice(self.max_active, None)
        is_used = self.epoch[kept] == self.epoch[row]
        is_equal = self.tokens[kept] == self.tokens[row]
        place = np.arange(self.tokens.shape[1])
        is_longer = is_used & (self.length[kept] >= self.length[row])
        if len(found := np.flatnonzero(is_longer & (is_equal | (place >= self.length[row])).all(1))):
            self.touch(self.max_active + int(found[0]))
            return None
        is_begun = is_used & (is_equal | (place >= self.length[kept, None])).all(1)
        age = np.where(self.epoch[kept] == -1, 0, self.used[kept])
        age[is_begun] = -1
        return self.max_active + int(age.argmin())

    def touch(self, row: int) -> None:
        """Note that a row was of use."""
        self._clock += 1
        self.used[row] = self._clock

    def copy(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> None:
        """Copy whole rows."""
        for column in self._columns():
            column[targets] = column[sources]

    def remove(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Free some active rows; the last ones move into the gaps, returned as (sources, targets)."""
        left = self.num_active - len(rows)
        is_gone = np.zeros(self.num_active, bool)
        is_gone[rows] = True
        targets = np.flatnonzero(is_gone[:left])
        sources = left + np.flatnonzero(~is_gone[left:])
        self.copy(sources, targets)
        self.epoch[left : self.num_active] = -1
        self.num_active = left
        return sources, targets

    def _columns(self) -> tuple[NDArray, ...]:
        return (
            self.request_id,
            self.length,
            self.prompt,
            self.count,
            self.limit,
            self.temperature,
            self.top_p,
            self.seed,
            self.stop,
            self.epoch,
            self.tokens,
            self.logprobs,
            self.versions,
        )
