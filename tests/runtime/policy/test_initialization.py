"""A declared policy: same seed, same bytes; the scales that were asked for; readable by anybody."""

import math
from pathlib import Path

import msgspec
import pytest
import yaml

from assay.core.error import ConfigError
from assay.runtime.policy.chat import PlainChat
from assay.runtime.policy.initialization import PolicySpec, initialize
from assay.runtime.policy.model import read_tensors


def make(folder: Path, **change: object) -> Path:
    keys = {"words": ("spell", "sort"), "characters": "abc0", "hidden": 64, "ffn": 128, "layers": 3}
    initialize(folder, msgspec.convert(keys | change, PolicySpec))
    return folder


def test_same_declaration_gives_same_bytes(tmp_path: Path) -> None:
    first, second, other = make(tmp_path / "a"), make(tmp_path / "b"), make(tmp_path / "c", seed=1)
    for path in sorted(first.iterdir()):
        assert path.read_bytes() == (second / path.name).read_bytes()
    assert (first / "model.safetensors").read_bytes() != (other / "model.safetensors").read_bytes()


def test_scales_are_those_declared(tmp_path: Path) -> None:
    state = dict(read_tensors(make(tmp_path, init_std=0.05, embedding_std=0.3)))
    assert state["model.embed_tokens.weight"].std().item() == pytest.approx(0.3, rel=0.1)
    assert state["model.layers.0.mlp.up_proj.weight"].std().item() == pytest.approx(0.05, rel=0.05)
    assert state["model.layers.0.mlp.down_proj.weight"].std().item() == pytest.approx(0.05 / math.sqrt(6), rel=0.05)
    assert state["model.layers.2.self_attn.o_proj.weight"].std().item() == pytest.approx(0.05 / math.sqrt(6), rel=0.05)
    assert (state["model.norm.weight"] == 1).all()
    assert "lm_head.weight" not in state


@pytest.mark.parametrize("name", ["tiny", "bytes"])
def test_keys_are_those_of_the_configuration(name: str, repository: Path) -> None:
    keys = yaml.safe_load((repository / "conf" / "policy" / f"{name}.yaml").read_text(encoding="utf-8"))
    assert keys.pop("path") is None
    spec = msgspec.convert(keys, PolicySpec, strict=True)
    assert {field for field in PolicySpec.__struct_fields__ if field not in keys} <= {"seed"}
    assert spec.hidden == keys["hidden"]


@pytest.mark.parametrize(
    ("change", "must"),
    [
        ({"words": ("sort", "sort")}, "tokens must be declared once"),
        ({"words": ("a",)}, "tokens must be declared once"),
        ({"words": ("a b",)}, "tokens must hold no space"),
        ({"characters": None}, "words must have characters beside them"),
        ({"heads": 3, "kv_heads": 3, "hidden": 63}, "head_dim must be even, rotary positions turn pairs"),
    ],
)
def test_impossible_declaration_is_refused(change: dict[str, object], must: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        make(tmp_path, **change)
    assert caught.value.must == must


@pytest.mark.parametrize("text", ["a  b\nc", "off / will", "\u00e9\U0001f600", "[end]", ""])
def test_bytes_read_and_write_every_text(text: str, tmp_path: Path) -> None:
    chat = PlainChat(make(tmp_path, words=(), characters=None))
    ids = chat.encode_completion(text)
    assert (len(text.encode()) + 1, text) == (len(ids), chat.decode(ids))
    assert ids.to_list()[-1:] == list(chat.stop_ids)


@pytest.mark.slow
def test_plain_transformers_loads_the_folder(policy: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(policy)
    model = AutoModelForCausalLM.from_pretrained(policy)
    assert tokenizer("sort down 96").input_ids == [5, 7, 8 + 26 + 9, 8 + 26 + 6]
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.eos_token_id) == (0, 1, 3)
    assert model.generation_config.eos_token_id == 3
    assert model.config.rope_parameters["rope_theta"] == 10.0
