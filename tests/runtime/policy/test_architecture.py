"""A config.json is read in both spellings, and what cannot be run is refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.error import ConfigError
from assay.runtime.policy.architecture import Architecture

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}


def test_rope_theta_is_read_in_both_spellings() -> None:
    old = Architecture.of_config(CONFIG | {"rope_theta": 10.0})
    new = Architecture.of_config(CONFIG | {"rope_parameters": {"rope_theta": 10.0, "rope_type": "default"}})
    assert old == new
    assert new.rope_theta == 10.0


def test_missing_sizes_follow_the_family() -> None:
    llama = Architecture.of_config(CONFIG)
    assert (llama.num_kv_heads, llama.head_dim, llama.has_qkv_bias, llama.has_qk_norm) == (4, 8, False, False)
    assert Architecture.of_config(CONFIG | {"model_type": "qwen2"}).has_qkv_bias
    assert not Architecture.of_config(CONFIG | {"model_type": "qwen2"}).has_output_bias
    qwen3 = Architecture.of_config(CONFIG | {"model_type": "qwen3"})
    assert (qwen3.head_dim, qwen3.has_qk_norm) == (128, True)


def test_written_config_reads_back_equal() -> None:
    for family in ("llama", "qwen2", "qwen3"):
        shape = Architecture.of_config(CONFIG | {"model_type": family, "tie_word_embeddings": True, "rope_theta": 7.0})
        assert Architecture.of_config(shape.to_config()) == shape


@pytest.mark.parametrize(
    ("change", "must"),
    [
        ({"model_type": "mamba"}, "model_type must be llama, qwen2 or qwen3"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "rotary positions must be unscaled"),
        ({"use_sliding_window": True}, "attention must be full"),
        ({"hidden_act": "gelu"}, "hidden_act must be silu"),
        ({"num_key_value_heads": 3}, "num_key_value_heads must divide num_attention_heads"),
        ({"head_dim": 7}, "head_dim must be even, rotary positions turn pairs"),
        ({"num_hidden_layers": 0}, "all sizes of a policy must be at least 1"),
    ],
)
def test_what_cannot_be_run_is_refused(change: dict[str, Any], must: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Architecture.of_config(CONFIG | change)
    assert caught.value.must == must


def test_broken_folder_names_its_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must have a config"):
        Architecture.read(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ConfigError, match="must be JSON"):
        Architecture.read(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | {"model_type": "mamba"}))
    with pytest.raises(ConfigError) as caught:
        Architecture.read(tmp_path)
    assert caught.value.at == str(tmp_path / "config.json")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    with pytest.raises(ConfigError, match="must have 'num_attention_heads'"):
        Architecture.read(tmp_path)
