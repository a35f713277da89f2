"""The acceptance test of a weight sync: the engine's log-probs against those of the trainer, token by token.

A checksum says that bytes arrived; only equal log-probs say that the engine computes with them. The trainer leaves a
few sequences with its log-probs beside each published version.
"""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from assay.core.array import Array
from assay.core.engine import Engine
from assay.core.trajectory import WeightVersion

# Versions whose probes are kept; a reader that is later finds none and counts it.
_KEPT = 8
# What the engine found; the trainer logs it with its next step.
_GAP = "gap"


class ProbeFile(msgspec.Struct, frozen=True, array_like=True):
    """Sequences and the trainer's log-probs of each token after the first."""

    version: WeightVersion
    sequences: tuple[Array, ...]
    logprobs: tuple[Array, ...]


def write_probe(folder: Path, probe: ProbeFile) -> None:
    """Write the probe of a version; old ones go."""
    path = _path(folder, probe.version)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(msgspec.msgpack.encode(probe))
    draft.replace(path)
    for old in sorted(folder.glob("probe-*.msgpack"))[:-_KEPT]:
        old.unlink(missing_ok=True)


def read_gap(folder: Path) -> float | None:
    """Return the largest difference of log-probs at the newest sync that was checked; None before the first."""
    try:
        return float((folder / _GAP).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


class Probe:
    """Checks an engine after each sync.

    Args:
        folder: Where the trainer leaves probes.
        tolerance: Largest difference of a log-prob; 1e-4 for float32 on both sides.
        alarm: Called with one line when a sync did not take.

    Attributes:
        num_checked: Versions compared.
        num_missing: Versions without a probe.
        worst: Largest difference seen.
    """

    def __init__(self, folder: Path, tolerance: float, alarm: Callable[[str], None]) -> None:
        self._folder = folder
        self._tolerance = tolerance
        self._alarm = alarm
        self.num_checked = 0
        self.num_missing = 0
        self.worst = 0.0

    def check(self, engine: Engine, version: WeightVersion) -> float | None:
        """Return the largest difference under a version; None where it has no probe."""
        try:
            data = _path(self._folder, version).read_bytes()
        except FileNotFoundError:
            self.num_missing += 1
            return None
        probe = msgspec.msgpack.decode(data, type=ProbeFile)
        found = engine.logprobs(probe.sequences)
        gap = max(
            (
                abs(a - b)
                for one, other in zip(found, probe.logprobs, strict=True)
                for a, b in zip(one.to_list(), other.to_list(), strict=True)
            ),
            default=0.0,
        )
        draft = self._folder / f".{_GAP}.{os.getpid()}"
        draft.write_text(repr(gap), encoding="ascii")
        draft.replace(self._folder / _GAP)
        self.num_checked += 1
        self.worst = max(self.worst, gap)
        if not gap <= self._tolerance:
            self._alarm(f"weights {version} did not take: log-probs differ by {gap:.3g}")
        return gap


def _path(folder: Path, version: WeightVersion) -> Path:
    return folder / f"probe-{version.pack():016x}.msgpack"
