"""The own model says what transformers says, for every family, and refuses folders that lack something."""

from pathlib import Path
from typing import Any

import pytest
import torch

from assay.core.error import ConfigError
from assay.runtime.policy.model import Model, read_tensors, state_of

SIZES: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 64,
    "intermediate_size": 112,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 128,
    "rope_theta": 37.0,
}


def save_reference(folder: Path, family: str, is_tied: bool, **extra: Any) -> Any:
    import transformers

    config = getattr(transformers, f"{family}Config")(**SIZES, tie_word_embeddings=is_tied, **extra)
    model = transformers.AutoModelForCausalLM.from_config(config).float()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.15)
    model.save_pretrained(folder)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize(
    ("family", "extra"),
    [("Llama", {}), ("Llama", {"attention_bias": True, "mlp_bias": True}), ("Qwen2", {}), ("Qwen3", {})],
)
def test_logprobs_equal_those_of_transformers(
    family: str, extra: dict[str, Any], is_tied: bool, tmp_path: Path
) -> None:
    reference = save_reference(tmp_path, family, is_tied, **extra)
    model = Model.load(tmp_path)
    ids_BT = torch.randint(0, 97, (3, 40), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        actual = model.sequence_logprobs(ids_BT, chunk_tokens=50)
        scores = reference(ids_BT).logits.log_softmax(-1)[:, :-1]
    expected = scores.gather(2, ids_BT[:, 1:, None])[..., 0]
    assert (actual - expected).abs().max() < 1e-5


@pytest.mark.slow
def test_weights_leave_as_they_came(tmp_path: Path) -> None:
    reference = save_reference(tmp_path, "Qwen3", is_tied=False)
    model = Model.load(tmp_path)
    state = state_of(model.weights, model.shape)
    expected = reference.state_dict()
    assert state.keys() == expected.keys()
    assert [name for name in state if not torch.equal(state[name], expected[name])] == []


def test_missing_unknown_or_misshapen_tensor_is_refused(policy: Path) -> None:
    model = Model.load(policy)
    state = dict(read_tensors(policy))
    norm = state.pop("model.norm.weight")
    with pytest.raises(ConfigError, match=r"no model\.norm\.weight"):
        model.put(state.items(), model.weights)
    with pytest.raises(ConfigError, match="must have shape"):
        model.put([("model.norm.weight", norm[1:])], model.weights)
    with pytest.raises(ConfigError, match=r"got model\.stranger"):
        model.put([("model.stranger", norm)], model.weights)


def test_tied_policy_ignores_a_separate_head(policy: Path) -> None:
    model = Model.load(policy)
    head = torch.zeros(model.shape.vocab_size, model.shape.hidden_size)
    model.put([*read_tensors(policy), ("lm_head.weight", head)], model.weights)
    assert model.weights.head is model.weights.embedding
    assert model.weights.head.abs().sum() > 0


def test_folder_without_whole_safetensors_is_refused(policy: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text((policy / "config.json").read_text())
    with pytest.raises(ConfigError, match="must have"):
        Model.load(tmp_path)
    (tmp_path / "model.safetensors").write_bytes((policy / "model.safetensors").read_bytes()[:100])
    with pytest.raises(ConfigError, match="must be whole"):
        Model.load(tmp_path)
