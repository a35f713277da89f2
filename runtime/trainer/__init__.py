"""Trainer ranks: Megatron-core behind the `Trainer` protocol.

Nothing here imports Megatron or torch; the modules do, and only trainer ranks load them.
"""

from assay.core.leaf import Factory

MEGATRON = Factory(
    "megatron",
    "assay.runtime.trainer.megatron:MegatronTrainer",
    "megatron-core on NCCL or gloo; data, tensor and pipeline parallel.",
)
