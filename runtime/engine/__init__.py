"""Rollout engines."""

from assay.core.leaf import Factory

ENGINES = (
    Factory("embedded", "assay.runtime.engine.embedded:EmbeddedEngine", "In this process, on the CPU or one GPU."),
)
