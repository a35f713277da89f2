"""The built-in algorithm keeps the contract that plugins are held to, with each of its options."""

from assay.runtime.algorithm import GRPO
from assay.testing import AlgorithmContract

ROOT = 3**0.5
NORMALIZED = {(1.0, 0.0, 0.0, 0.0): (ROOT, -1 / ROOT, -1 / ROOT, -1 / ROOT), (2.0, 0.0): (1.0, -1.0)}

TestGrpo = AlgorithmContract.of(GRPO, cases=NORMALIZED)
TestGrpoPerDomain = AlgorithmContract.of(GRPO, options={"scope": "domain"}, cases=NORMALIZED, is_scaled_by_domain=True)
TestGrpoWithoutDeviation = AlgorithmContract.of(
    GRPO,
    options={"normalize": False, "denominator": "sequence", "clip_high": 0.28},
    cases={(1.0, 0.0, 0.0, 0.0): (0.75, -0.25, -0.25, -0.25)},
)
