import pytest
import torch

from assay.core.error import TrainerError
from assay.runtime.trainer.mapping import Fusion, Heads, from_shards, map_parameters, to_shard

HEADS = Heads(num_heads=8, num_groups=4, head_dim=3)
WIDTH = 24
SHAPES: dict[Fusion, list[tuple[int, ...]]] = {
    "whole": [(WIDTH,)],
    "column": [(20, WIDTH)],
    "row": [(WIDTH, 24)],
    "gated": [(16, WIDTH), (16, WIDTH)],
    "qkv": [(24, WIDTH), (12, WIDTH), (12, WIDTH)],
}


@pytest.mark.parametrize("fusion", list(SHAPES))
@pytest.mark.parametrize("size", [1, 2, 4])
def test_slices_of_all_ranks_give_the_weights_back(fusion: Fusion, size: int) -> None:
    weights = [torch.randn(shape) for shape in SHAPES[fusion]]
    shards = [to_shard(fusion, weights, HEADS, rank, size) for rank in range(size)]
    assert all(map(torch.equal, weights, from_shards(fusion, shards, HEADS)))


def test_query_key_and_value_of_a_group_stand_together() -> None:
    heads = Heads(num_heads=4, num_groups=2, head_dim=1)
    query, key, value = torch.tensor([1, 2, 3, 4]), torch.tensor([10, 20]), torch.tensor([100, 200])
    assert [1, 2, 10, 100, 3, 4, 20, 200] == to_shard("qkv", [query, key, value], heads, 0, 1).tolist()
    assert [3, 4, 20, 200] == to_shard("qkv", [query, key, value], heads, 1, 2).tolist()


def test_gate_and_up_of_a_rank_stand_together() -> None:
    gate, up = torch.tensor([1, 2, 3, 4]), torch.tensor([10, 20, 30, 40])
    assert [3, 4, 30, 40] == to_shard("gated", [gate, up], HEADS, 1, 2).tolist()


def test_names_of_both_layer_specs_lead_to_the_same_weights() -> None:
    local = ["decoder.layers.0.input_layernorm.weight", "decoder.layers.0.pre_mlp_layernorm.weight"]
    fused = [
        "decoder.layers.0.self_attention.linear_qkv.layer_norm_weight",
        "decoder.layers.0.mlp.linear_fc1.layer_norm_weight",
    ]
    found = [[mapped.names for mapped in map_parameters(names, 0, True)] for names in (local, fused)]
    assert found[0] == found[1]


def test_layers_of_a_later_stage_keep_their_number() -> None:
    (mapped,) = map_parameters(["decoder.layers.1.mlp.linear_fc2.weight"], 6, False)
    assert ("model.layers.7.mlp.down_proj.weight",) == mapped.names


def test_second_home_of_a_tied_weight_is_read_but_not_exported() -> None:
    (mapped,) = map_parameters(["output_layer.weight"], 0, True)
    assert (("model.embed_tokens.weight",), True) == (mapped.names, mapped.is_copy)
    (mapped,) = map_parameters(["output_layer.weight"], 0, False)
    assert (("lm_head.weight",), False) == (mapped.names, mapped.is_copy)


def test_parameter_without_a_name_is_refused() -> None:
    with pytest.raises(TrainerError, match=r"got decoder\.layers\.0\.mlp\.router\.weight"):
        map_parameters(["decoder.layers.0.mlp.router.weight"], 0, False)
