from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from assay.core.error import TrainerError
from assay.runtime.trainer.checkpoint import folder_digest, read_checkpoint, read_policy_weights, write_checkpoint

WEIGHTS = {"model.norm.weight": torch.arange(4.0)}
OPTIMIZER = {"rng": torch.zeros(3, dtype=torch.uint8)}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[int], str]:
    companion = tmp_path / "policy"
    companion.mkdir()
    (companion / "config.json").write_text("{}")
    return lambda step: write_checkpoint(tmp_path / "runs" / "7", WEIGHTS, OPTIMIZER, {"step": step}, companion)


def test_checkpoint_comes_back_as_written(tmp_path: Path, write: Callable[[int], str]) -> None:
    found = read_checkpoint(tmp_path / "runs" / "7", write(3))
    assert {"step": 3} == found.state
    assert torch.equal(WEIGHTS["model.norm.weight"], found.weights["model.norm.weight"])
    assert torch.equal(OPTIMIZER["rng"], found.optimizer["rng"])


def test_checkpoint_leaves_nothing_beside_itself(tmp_path: Path, write: Callable[[int], str]) -> None:
    write(1)
    write(2)
    assert ["7"] == [path.name for path in (tmp_path / "runs").iterdir()]


def test_later_checkpoint_replaces_the_earlier(tmp_path: Path, write: Callable[[int], str]) -> None:
    first, second = write(1), write(2)
    assert first != second
    assert {"step": 2} == read_checkpoint(tmp_path / "runs" / "7", second).state


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "trainer.json", "config.json"])
def test_changed_file_is_refused(tmp_path: Path, write: Callable[[int], str], name: str) -> None:
    digest = write(1)
    path = tmp_path / "runs" / "7" / name
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(TrainerError, match="must have the digest"):
        read_checkpoint(tmp_path / "runs" / "7", digest)


def test_added_file_is_refused(tmp_path: Path, write: Callable[[int], str]) -> None:
    digest = write(1)
    (tmp_path / "runs" / "7" / "more.json").write_text("{}")
    assert digest != folder_digest(tmp_path / "runs" / "7")


def test_missing_checkpoint_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TrainerError, match=r"trainer\.json"):
        read_checkpoint(tmp_path / "nowhere", "0" * 64)


def test_checkpoint_is_a_policy_folder(tmp_path: Path, write: Callable[[int], str]) -> None:
    write(1)
    weights = read_policy_weights(tmp_path / "runs" / "7")
    assert ["model.norm.weight"] == list(weights)
    assert (tmp_path / "runs" / "7" / "config.json").is_file()


def test_weights_file_that_does_not_load_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TrainerError, match=r"model\.safetensors"):
        read_policy_weights(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(TrainerError, match="must load"):
        read_policy_weights(tmp_path)
