"""The embedded engine keeps the contract of engines."""

from assay.runtime.engine import ENGINES
from assay.runtime.testing.engine import EngineContract

(EMBEDDED,) = ENGINES

TestEmbedded = EngineContract.of(EMBEDDED)
TestDeterministic = EngineContract.of(EMBEDDED, options={"is_deterministic": True, "max_active": 8})
