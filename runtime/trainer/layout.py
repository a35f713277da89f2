"""How the ranks divide the model and the batch, read once from Megatron."""

from typing import Any, NamedTuple

import torch.distributed as dist

from assay.runtime.trainer.mcore import parallel_state


class Layout(NamedTuple):
    """This rank's place.

    Attributes:
        tensor_rank: Which slice of each layer.
        tensor_size: Slices of each layer.
        tensor_group: Process group of the slices.
        stage: Which run of layers.
        stages: Global rank of each stage of this pipeline, first to last.
        stage_group: Process group of the stages.
        data_rank: Which share of a batch.
        data_size: Shares of a batch.
        data_group: Process group of the shares.
    """

    tensor_rank: int
    tensor_size: int
    tensor_group: Any
    stage: int
    stages: tuple[int, ...]
    stage_group: Any
    data_rank: int
    data_size: int
    data_group: Any

    @property
    def num_stages(self) -> int:
        """Runs of layers."""
        return len(self.stages)


def make_layout(tensor_parallel: int, pipeline_parallel: int) -> Layout:
    """Divide the world among tensor, pipeline and data parallelism; called once per process."""
    parallel_state.initialize_model_parallel(tensor_parallel, pipeline_parallel, create_gloo_process_groups=False)
    stage_group: Any = parallel_state.get_pipeline_model_parallel_group()
    return Layout(
        tensor_rank=parallel_state.get_tensor_model_parallel_rank(),
        tensor_size=parallel_state.get_tensor_model_parallel_world_size(),
        tensor_group=parallel_state.get_tensor_model_parallel_group(),
        stage=parallel_state.get_pipeline_model_parallel_rank(),
        stages=tuple(dist.get_process_group_ranks(stage_group)),
        stage_group=stage_group,
        data_rank=parallel_state.get_data_parallel_rank(),
        data_size=parallel_state.get_data_parallel_world_size(),
        data_group=parallel_state.get_data_parallel_group(),
    )
