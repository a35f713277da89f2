"""The store keeps the contract of stores, and equal blobs once."""

from pathlib import Path

from assay_example_store import ZLIB, ZlibStore

from assay.testing import StoreContract

TestZlib = StoreContract.of(ZLIB, options={"level": 1})


def test_equal_blobs_of_all_writers_are_one_file(tmp_path: Path) -> None:
    stores = [ZlibStore(tmp_path, name) for name in ("rollout-0", "rollout-1")]
    refs = {store.put(b"the same" * 1000) for store in stores for _ in range(2)}
    for store in stores:
        store.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert (1, 1) == (len(refs), len(files))
    assert files[0].stat().st_size < 100
