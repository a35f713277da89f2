"""The segment store beyond the contract of stores: one writer, torn tails to the byte, full segments."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.error import StoreError
from assay.runtime.store.local import LocalStore


def segment(folder: Path, writer: str = "w") -> Path:
    return sorted(folder.glob(f"{writer}~*.seg"))[-1]


@pytest.mark.parametrize("cut", [1, 5, 30, 52])
def test_torn_tail_is_dropped_and_what_was_before_stays(tmp_path: Path, cut: int) -> None:
    store = LocalStore(tmp_path, "w")
    whole = store.put(b"whole")
    store.sync()
    store.put(b"torn!")
    store.close()
    path = segment(tmp_path)
    os.truncate(path, path.stat().st_size - cut)
    again = LocalStore(tmp_path, "w")
    after = again.put(b"after")
    assert 53 - cut == again.num_torn_bytes
    assert (b"whole", b"after") == (again.get(whole), again.get(after))
    again.close()


def test_flipped_byte_of_the_last_record_counts_as_torn(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, "w")
    store.put(b"abc")
    store.close()
    data = bytearray(segment(tmp_path).read_bytes())
    data[-1] ^= 1
    segment(tmp_path).write_bytes(data)
    again = LocalStore(tmp_path, "w")
    assert len(data) == again.num_torn_bytes
    again.close()


def test_forged_bytes_are_refused(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, "w")
    ref = store.put(b"abc")
    store.close()
    data = segment(tmp_path).read_bytes()
    segment(tmp_path).write_bytes(data[:-1] + b"d")
    reader = LocalStore(tmp_path)
    with pytest.raises(StoreError, match="bytes of its digest"):
        reader.get(ref)
    reader.close()


def test_two_writers_of_one_name_are_refused(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, "w")
    imports = "import sys; from pathlib import Path; from assay.runtime.store.local import LocalStore"
    code = f"{imports}; LocalStore(Path(sys.argv[1]), 'w')"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert "a segment must have one writer" in done.stderr
    store.close()


def test_full_segment_is_followed_by_another(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, "w", segment_bytes=100)
    refs = [store.put(bytes([n]) * 60) for n in range(4)]
    assert 4 == len({ref.store for ref in refs} | {"w~0.seg", "w~1.seg", "w~2.seg", "w~3.seg"})
    store.close()
    again = LocalStore(tmp_path, "w", segment_bytes=100)
    assert [bytes([n]) * 60 for n in range(4)] == [again.get(ref) for ref in refs]
    again.close()


def test_reference_outside_the_folder_is_refused(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, "w")
    ref = store.put(b"abc")
    for name in ("../w~0.seg", "nowhere", "gone~0.seg"):
        with pytest.raises(StoreError):
            store.get(type(ref)(ref.digest, ref.num_bytes, name, ref.offset))
    store.close()
