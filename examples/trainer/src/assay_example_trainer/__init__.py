"""An Assay trainer: transformers and plain PyTorch in one process."""

from collections.abc import Sequence

import assay
from assay.core.leaf import Factory

TORCH = Factory("torch", "assay_example_trainer.trainer:TorchTrainer", "transformers and plain PyTorch, one process.")


@assay.hookimpl
def assay_trainers() -> Sequence[Factory]:
    """Offer `torch`."""
    return (TORCH,)


@assay.hookimpl
def assay_config_dirs() -> Sequence[str]:
    """Offer `conf/trainer/torch.yaml`."""
    return ("assay_example_trainer/conf",)
