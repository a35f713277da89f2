"""The ledger as others see it while it is made."""

import threading
from pathlib import Path

from assay.core.error import StoreError
from assay.runtime.coordinator.ledger import Ledger, read_only


def test_a_reader_finds_all_tables_or_no_ledger(tmp_path: Path) -> None:
    seen: list[int] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            for path in tmp_path.glob("*.sqlite"):
                try:
                    db = read_only(path)
                except StoreError:
                    continue
                (number,) = db.execute("SELECT COUNT(*) FROM sqlite_master WHERE type IN ('table', 'view')").fetchone()
                seen.append(number)
                db.close()

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for number in range(30):
            ledger = Ledger(tmp_path / f"{number}.sqlite", "plan")
            ledger.close()
    finally:
        is_over.set()
        reader.join()
    assert {seen[-1]} == set(seen)
