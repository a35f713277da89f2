"""Cost of one verification: in the persistent worker, in a fork of a bare zygote, in a fork that holds a library.

Wall times of calls one after the other, through the whole path: host, channel, worker, checks, clean-up and back.
"""

import statistics
import tempfile
import time
from pathlib import Path

from assay.runtime.verify.host import VerifierHost, VerifierRef
from assay.runtime.verify.message import Job, Mode

NAME = "verify"

_PLUGIN = """
import assay

class Match(assay.Signals, frozen=True):
    equal: bool

@assay.verifier("bench.bare", version=1)
def bare(answer: str, expected: str) -> Match:
    return Match(equal=answer == expected)

@assay.verifier("bench.heavy", version=1)
def heavy(answer: str, expected: str) -> Match:
    import reasoning_gym
    return Match(equal=answer == expected)
"""
_DIST = "assay-bench:1.0.0"


def run() -> dict[str, float]:
    """Return the figures by name; `_us` microseconds, `_ms` milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        _install(Path(folder))
        return {
            "worker_us": 1e6 * _per_call(folder, "bare", "worker", 5000),
            "async_us": 1e6 * _per_call(folder, "bare", "async", 3000),
            "fork_ms": 1e3 * _per_call(folder, "bare", "fork", 300),
            "fork_heavy_ms": 1e3 * _per_call(folder, "heavy", "fork", 100),
            "start_ms": 1e3 * _start(folder),
        }


def _install(folder: Path) -> None:
    (folder / "assay_bench.py").write_text(_PLUGIN)
    metadata = folder / "assay_bench-1.0.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: assay-bench\nVersion: 1.0.0\n")


def _per_call(folder: str, name: str, mode: Mode, count: int) -> float:
    """Median seconds of one call over five equal parts."""
    ref = f"{_DIST}:assay_bench:{name}"
    with VerifierHost(paths=[folder]) as host:
        host.start([VerifierRef(ref, mode)])
        host.wait_started()
        parts = []
        for part in range(6):
            started = time.perf_counter()
            for number in range(count // 5):
                host.submit(Job(number, ref, {"expected": "seven"}, "seven"))
                while not (outcomes := host.poll(1.0)):
                    pass
                assert outcomes[0].measurement is not None, outcomes[0].detail
            # The first part fills caches.
            if part:
                parts.append((time.perf_counter() - started) / (count // 5))
        return statistics.median(parts)


def _start(folder: str) -> float:
    """Median seconds from nothing to a worker that is ready."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        with VerifierHost(paths=[folder]) as host:
            host.start([VerifierRef(f"{_DIST}:assay_bench:bare")])
            host.wait_started()
            times.append(time.perf_counter() - started)
    return statistics.median(times)
