"""The checkpoint of a real run in another format, and a run that goes on from it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from real_run import SMALL, Command

from assay.core.array import Array
from assay.core.error import AssayError
from assay.runtime.cli.export import find_checkpoint
from assay.runtime.engine.embedded import EmbeddedEngine
from assay.runtime.run.folder import RunFolder

pytestmark = pytest.mark.slow


@pytest.fixture
def exported(small_run: Command, command: Callable[..., Command]) -> Path:
    one = command("export", str(small_run.run_folder), "--to", "huggingface", "policy")
    assert 0 == one.wait(), one.output
    assert "checkpoint 0.36 of " in one.output
    return one.folder / "policy"


def test_transformers_computes_with_an_export_what_the_engine_computes_with_the_checkpoint(
    small_run: Command, exported: Path
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(exported)
    ids = [5, 8, 9, 10, 2, 11, 12, 3]
    with torch.no_grad():
        logprobs = model(torch.tensor([ids])).logits[0, :-1].log_softmax(-1)
    engine = EmbeddedEngine(small_run.run_folder / "checkpoints" / "0.36")
    (expected,) = engine.logprobs([Array.of(ids, "int32")])
    engine.close()
    actual = logprobs.gather(1, torch.tensor(ids[1:]).unsqueeze(1)).squeeze(1).tolist()
    assert actual == pytest.approx(expected.to_list(), abs=1e-4)


def test_run_starts_from_an_export(exported: Path, command: Callable[..., Command]) -> None:
    words = [word for word in SMALL if "until" not in word]
    until = ("curriculum.stages.warmup.until=step >= 2", "curriculum.stages.learn.until=step >= 4")
    one = command("train", "policy=folder", f"policy.path={exported}", "policy.max_positions=64", *words, *until)
    assert 0 == one.wait(), one.output
    plan = json.loads((one.run_folder / "run.json").read_text())
    assert (str(exported), 4) == (plan["policy"], json.loads((one.run_folder / "summary.json").read_text())["updates"])


def test_checkpoint_is_named_by_step_or_by_lineage_and_step(small_run: Command) -> None:
    folder = RunFolder(small_run.run_folder)
    assert ["0.36", "0.36", "0.20", "0.20"] == [
        str(find_checkpoint(folder, wanted)[0]) for wanted in ("last", "36", "20", "0.20")
    ]
    with pytest.raises(AssayError, match="must be one of the run's, got 21"):
        find_checkpoint(folder, "21")
