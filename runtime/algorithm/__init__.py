"""Algorithms: one small file each; plain numbers in, plain numbers out, no torch."""

from assay.core.leaf import Factory

GRPO = Factory("grpo", "assay.runtime.algorithm.grpo:Grpo", "Rewards centred inside their group, clipped surrogate.")
