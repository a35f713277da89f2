from pathlib import Path

import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from sums.task import sums


def reward(text: str, tokens: int, folder: Path) -> float:
    said = ModelOutput.from_content("mockllm/model", text)
    said.usage = ModelUsage(output_tokens=tokens)
    model = get_model("mockllm/model", custom_outputs=[said])
    (log,) = inspect_eval(sums(), model=model, limit=1, log_dir=str(folder), display="none")
    assert log.status == "success" and log.samples and log.samples[0].scores
    value = log.samples[0].scores["graded"].value
    assert isinstance(value, dict)
    return float(value["reward"])


def test_splits_load() -> None:
    assert len(sums("train").dataset) == 4
    assert sums("eval").dataset[0].target == "11"


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        ("Answer: 11", 4, 0.99375),
        ("Answer: 11", 500, 0.9),
        ("Answer: 1\nNo.\nAnswer: 11\nDone.", 64, 0.9),
        ("Answer: 11\nAnswer: 1", 500, 0.0),
        ("Answer: 11.", 4, 0.0),
        ("11", 4, -0.2),
        ("answer: 11", 4, -0.2),
        ("Answer: 11\nAnswer:", 4, -0.2),
    ],
)
def test_reward(text: str, tokens: int, expected: float, tmp_path: Path) -> None:
    assert reward(text, tokens, tmp_path) == pytest.approx(expected)
