"""Columns of stored signals: what nobody measured is no number."""

import math

import pytest
from world import DOMAIN, World

from assay.core.kind import BOOL, FLOAT, INT, STR, Kind
from assay.dsl.column import ColumnGrader
from assay.dsl.recall import Recall
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.regrade.table import blank, tables


def test_number_that_nobody_measured_poisons_whatever_reads_it() -> None:
    assert math.isnan(blank(FLOAT)) and math.isnan(blank(INT))
    assert (False, "", []) == (blank(BOOL), blank(STR), blank(Kind("list", item=FLOAT)))


@pytest.mark.slow
def test_columns_hold_what_the_edited_reward_reads(world: World) -> None:
    edited = world.compile(DOMAIN.replace("0.2*text.equal", "0.2*weight*text.equal")).require()
    with StoredRun(world.folder) as run:
        (table,) = tables(run, "edit", Recall(world.program, edited), ColumnGrader(edited))
    assert {"num.parsed", "num.equal", "text.equal", "weight", "trace.tokens"} == set(table.columns)
    assert [1.0] * 4 + [2.0] * 4 == table.columns["weight"].tolist()[:8]
    assert [3.0, 8.0, 3.0, 4.0] == table.columns["trace.tokens"].tolist()[:4]
    assert 16 == len(table.of("REDUCE")) + len(table.of("REGRADE"))
