"""An exported state is a folder that plain transformers decodes as the engine does."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from assay.core.array import Array
from assay.core.engine import GenerateRequest, Sampling
from assay.core.error import ConfigError
from assay.runtime.engine.embedded import EmbeddedEngine
from assay.runtime.policy.export import HuggingFaceExporter, array_to_tensor, export, read_state
from assay.runtime.policy.model import read_tensors


def trained_state(policy: Path) -> list[tuple[str, Array]]:
    generator = torch.Generator().manual_seed(5)
    changed = [(name, t + 0.1 * torch.randn(t.shape, generator=generator)) for name, t in read_tensors(policy)]
    return [(name, Array("float32", tuple(t.shape), t.numpy().tobytes())) for name, t in changed]


def test_state_comes_back_from_the_folder(policy: Path, tmp_path: Path) -> None:
    state = trained_state(policy)
    folder = export(HuggingFaceExporter(), tmp_path / "export", iter(state), policy)
    expected = {name: array_to_tensor(value) for name, value in state}
    actual = dict(read_tensors(folder))
    assert actual.keys() == expected.keys()
    assert all(torch.equal(actual[name], expected[name]) for name in expected)
    assert [path.name for path in tmp_path.iterdir()] == ["export"]


def test_incomplete_state_writes_nothing(policy: Path, tmp_path: Path) -> None:
    state = trained_state(policy)
    with pytest.raises(ConfigError, match="must hold every tensor"):
        export(HuggingFaceExporter(), tmp_path / "export", state[1:], policy)
    with pytest.raises(ConfigError, match="must fit its policy"):
        export(HuggingFaceExporter(), tmp_path / "export", [("model.norm.weight", Array.of([1.0], "float32"))], policy)
    assert list(tmp_path.iterdir()) == []


def test_folder_that_exists_is_not_written_into(policy: Path, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "mine").touch()
    with pytest.raises(ConfigError, match=r"a folder of its own, got one that exists - at .*export"):
        export(HuggingFaceExporter(), tmp_path / "export", trained_state(policy), policy)
    assert [tmp_path / "export" / "mine"] == list(tmp_path.rglob("*"))[1:]


def test_failed_export_leaves_nothing(policy: Path, tmp_path: Path) -> None:
    class Failing:
        def write(self, folder: Path, state: Any, policy: Path) -> None:
            (folder / "half").touch()
            raise OSError(28, "No space left on device")

    with pytest.raises(ConfigError, match="must be written, got No space left on device"):
        export(Failing(), tmp_path / "export", [], policy)
    assert [] == list(tmp_path.iterdir())


def test_checkpoint_is_read_as_it_was_written(policy: Path) -> None:
    expected = {name: tensor for name, tensor in read_tensors(policy)}
    actual = {name: array_to_tensor(array) for name, array in read_state(policy)}
    assert expected.keys() == actual.keys()
    assert all(torch.equal(expected[name], actual[name]) for name in expected)


def test_half_precision_is_said_in_the_configuration(policy: Path, tmp_path: Path) -> None:
    folder = export(HuggingFaceExporter("bfloat16"), tmp_path / "export", trained_state(policy), policy)
    assert {torch.bfloat16} == {tensor.dtype for _, tensor in read_tensors(folder)}
    assert "bfloat16" == json.loads((folder / "config.json").read_text())["dtype"]
    with pytest.raises(ConfigError, match="must be whole, and float32"):
        list(read_state(folder))
    with pytest.raises(ConfigError, match="dtype must be one of float32, bfloat16, float16, got int8"):
        HuggingFaceExporter("int8")


@pytest.mark.slow
def test_greedy_decoding_by_transformers_equals_the_engine(policy: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = export(HuggingFaceExporter(), tmp_path / "export", trained_state(policy), policy)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForCausalLM.from_pretrained(folder)
    engine = EmbeddedEngine(folder, max_active=8)
    prompts = [tokenizer(text).input_ids for text in ("spell hart", "sort up 907", "a", "down down 1 x 2 y", "zzzz")]
    for index, prompt in enumerate(prompts):
        sampling = Sampling(20, temperature=0.0, stop_ids=(tokenizer.eos_token_id,))
        engine.submit(GenerateRequest(index, Array.of(prompt, "int32"), sampling))
    found: dict[int, list[float] | list[int]] = {}
    while engine.num_active:
        found |= {completion.request_id: completion.sampled_ids.to_list() for completion in engine.poll()}
    for index, prompt in enumerate(prompts):
        ids = torch.tensor([prompt])
        output = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=20)
        assert found[index] == output[0, len(prompt) :].tolist()
