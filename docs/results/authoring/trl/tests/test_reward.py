import pytest
from sums.reward import REWARDS, WEIGHTS
from sums.train import split


def reward(text: str, tokens: int) -> float:
    said = [[{"role": "assistant", "content": text}]]
    found = [reward(completions=said, completion_ids=[[0] * tokens], expected=["11"])[0] for reward in REWARDS]
    return sum(weight * value for weight, value in zip(WEIGHTS, found, strict=True))


def test_splits_load() -> None:
    assert len(split("train")) == 4
    assert split("eval")[0]["expected"] == "11"


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
def test_reward(text: str, tokens: int, expected: float) -> None:
    assert reward(text, tokens) == pytest.approx(expected)
