"""The segment store keeps the contract of stores."""

from assay.runtime.builtin import assay_stores
from assay.runtime.testing.store import StoreContract

(LOCAL,) = assay_stores()

TestLocalStore = StoreContract.of(LOCAL)
TestSmallSegments = StoreContract.of(LOCAL, options={"segment_bytes": 100})
