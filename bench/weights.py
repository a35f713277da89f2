"""Seconds per megabyte of a weight transfer, as a ratio to one memcpy of the same bytes.

A publication is one copy and one CRC-32; a read is one CRC-32 and one copy into the model's tensors, with the query
and key projections put into the engine's order. Quickest of several rounds; 24 million parameters, 96 MB.
"""

import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from assay.core.trajectory import WeightVersion

NAME = "weights"


def run() -> dict[str, float]:
    """Return ratios to one memcpy, and the megabytes moved."""
    import numpy as np
    import torch

    from assay.runtime.engine.embedded import EmbeddedEngine
    from assay.runtime.policy.model import state_of
    from assay.runtime.weight.layout import WeightLayout
    from assay.runtime.weight.place import choose_weight_folder, remove_weight_folder
    from assay.runtime.weight.publisher import WeightPublisher
    from bench.engine import MEDIUM, write_policy

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        policy = write_policy(Path(name) / "policy", MEDIUM)
        engine = EmbeddedEngine(policy, max_active=1, max_context=8)
        state = dict(state_of(engine._model.weights, MEDIUM))
        layout = WeightLayout.of(MEDIUM.tensors())
        folder = choose_weight_folder(Path(name) / "run", layout.num_bytes)
        publisher = WeightPublisher(folder, layout)
        try:
            steps = iter(range(1, 1_000_000))
            publish_s = quickest(lambda: publisher.publish(state.items(), WeightVersion(0, next(steps))))
            latest = engine_version(publisher)
            read_s = quickest(lambda: engine.update_weights(folder, latest))
        finally:
            publisher.close()
            remove_weight_folder(folder)
        source = np.ones(layout.file_bytes, np.uint8)
        target = np.ones_like(source)
        memcpy_s = quickest(lambda: np.copyto(target, source))
        crc_s = quickest(lambda: zlib.crc32(source.data))
    return {
        "publish_per_memcpy": publish_s / memcpy_s,
        "read_per_memcpy": read_s / memcpy_s,
        "crc_per_memcpy": crc_s / memcpy_s,
        "megabytes": layout.file_bytes / 1e6,
        "publish_s_per_mb": publish_s / layout.file_bytes * 1e6,
        "read_s_per_mb": read_s / layout.file_bytes * 1e6,
    }


def engine_version(publisher: object) -> WeightVersion:
    """Return the latest version of a publisher's folder."""
    from assay.runtime.weight.reader import WeightReader

    latest = WeightReader(publisher.folder).latest()  # type: ignore[attr-defined]
    assert latest is not None
    return latest


def quickest(job: Callable[[], object], rounds: int = 7) -> float:
    """Return the least CPU seconds of a job."""
    job()
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        job()
        best = min(best, time.process_time() - start)
    return best
