"""Rows keep what they hold, however requests come and go."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.array import Array
from assay.core.engine import GenerateRequest, Sampling
from assay.runtime.engine.table import Table


@pytest.mark.slow
@given(st.lists(st.one_of(st.just("add"), st.lists(st.integers(0, 5), max_size=6, unique=True)), max_size=30))
def test_removing_rows_leaves_the_others_whole(events: list[str | list[int]]) -> None:
    table = Table(max_active=6, max_retained=0, max_context=8)
    alive: set[int] = set()
    next_id = 100
    for event in events:
        if isinstance(event, list):
            rows = np.array(sorted(row for row in event if row < table.num_active), np.int64)
            alive -= set(table.request_id[rows].tolist())
            table.remove(rows)
        elif table.num_free:
            prompt = np.full(1 + next_id % 4, next_id % 50, np.int32)
            request = GenerateRequest(
                next_id, Array("int32", prompt.shape, prompt.tobytes()), Sampling(3, seed=next_id)
            )
            table.assign(table.add(prompt, epoch=0), [request])
            alive.add(next_id)
            next_id += 1
        active = table.request_id[: table.num_active].tolist()
        assert set(active) == alive
        assert len(active) == len(alive)
        for row, request_id in enumerate(active):
            assert table.tokens[row, : table.prompt[row]].tolist() == [request_id % 50] * (1 + request_id % 4)
            assert table.seed[row] == request_id
        assert (table.epoch[: table.num_active] == 0).all()
        assert (table.epoch[table.num_active :] == -1).all()


def test_limit_includes_the_room_that_is_left() -> None:
    table = Table(max_active=1, max_retained=0, max_context=8)
    prompt = np.zeros(6, np.int32)
    row = table.add(prompt, epoch=0)
    table.assign(row, [GenerateRequest(1, Array.of(prompt.tolist(), "int32"), Sampling(2**70))])
    assert table.limit[row] == 2
