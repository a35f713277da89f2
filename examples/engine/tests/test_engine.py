"""The engine keeps the contract of engines, and its limit."""

import time
from pathlib import Path

import pytest
from assay_example_engine import METERED
from assay_example_engine.engine import MeteredEngine

from assay.core.array import Array
from assay.core.engine import GenerateRequest, Sampling
from assay.runtime.testing.policy import small_policy
from assay.testing import EngineContract

TestMetered = EngineContract.of(METERED, options={"max_active": 8, "tokens_per_s": 20000})


def test_limit_is_kept_and_everything_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = MeteredEngine(small_policy(tmp_path), tokens_per_s=400)
    for number in range(4):
        engine.submit(GenerateRequest(number, Array.of([70, 71], "int32"), Sampling(20)))
    started_s = time.monotonic()
    while engine.num_active:
        engine.poll()
    # The last tokens need not be paid for.
    assert time.monotonic() - started_s >= 76 / 400
    engine.close()
    assert "metered: 4 requests, 8 prompt tokens, 80 sampled tokens, waited 0." in capsys.readouterr().err
