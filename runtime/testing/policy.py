"""Policies small enough to make in a test; every byte of a text is a token, so that nothing is lost."""

from collections.abc import Callable
from pathlib import Path

from assay.core.array import Array
from assay.core.trajectory import WeightVersion
from assay.runtime.policy.architecture import Architecture
from assay.runtime.weight.layout import WeightLayout
from assay.runtime.weight.publisher import WeightPublisher

MAX_CONTEXT = 64


def small_policy(folder: Path, seed: int = 0) -> Path:
    """Make a policy of 20,000 random weights in a folder; returns it. Needs torch and tokenizers."""
    from assay.runtime.policy.initialization import PolicySpec, initialize

    spec = PolicySpec(
        hidden=32, layers=2, heads=4, kv_heads=2, ffn=48, max_positions=MAX_CONTEXT, init_std=0.3, seed=seed
    )
    initialize(folder, spec)
    return folder


class PolicyShelf:
    """Small policies by seed, and versions of their weights as a trainer publishes them.

    Args:
        new_folder: Gives an empty folder.
    """

    def __init__(self, new_folder: Callable[[], Path]) -> None:
        self._new_folder = new_folder
        self._policies: dict[int, Path] = {}
        self._publishers: list[WeightPublisher] = []

    def policy(self, seed: int = 0) -> Path:
        """Return the policy of a seed; all seeds have one shape."""
        if seed not in self._policies:
            self._policies[seed] = small_policy(self._new_folder(), seed)
        return self._policies[seed]

    def publish(self, *versions: tuple[WeightVersion, int]) -> Path:
        """Publish the weights of seeds under versions; returns the folder that an engine reads."""
        layout = WeightLayout.of(Architecture.read(self.policy()).tensors(), num_buffers=3)
        publisher = WeightPublisher(self._new_folder(), layout)
        self._publishers.append(publisher)
        for version, seed in versions:
            publisher.publish(self.state(seed), version)
        return publisher.folder

    def state(self, seed: int = 0) -> list[tuple[str, Array]]:
        """Return the weights of a seed."""
        from assay.runtime.policy.export import read_state

        return list(read_state(self.policy(seed)))

    def close(self) -> None:
        """Let go of what was published."""
        for publisher in self._publishers:
            publisher.close()
