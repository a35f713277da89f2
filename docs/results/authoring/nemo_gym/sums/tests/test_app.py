import asyncio
import json
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from app import SumsConfig, SumsRunRequest, SumsServer, SumsVerifyRequest
from nemo_gym.server_utils import ServerClient

DATA = Path(__file__).parents[1] / "data"


def rows(split: str) -> list[SumsRunRequest]:
    lines = (DATA / f"{split}.jsonl").read_text().splitlines()
    return [SumsRunRequest.model_validate(json.loads(line)) for line in lines]


def reward(text: str, tokens: int) -> float:
    config = SumsConfig(host="127.0.0.1", port=8080, entrypoint="", name="sums")
    server = SumsServer(config=config, server_client=MagicMock(spec=ServerClient))
    content = [{"type": "output_text", "text": text, "annotations": []}]
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens + 1,
    }
    response = {
        "id": "",
        "created_at": 0,
        "model": "",
        "object": "response",
        "output": [{"id": "", "type": "message", "role": "assistant", "status": "completed", "content": content}],
        "usage": usage,
        "parallel_tool_calls": False,
        "tool_choice": "none",
        "tools": [],
    }
    body = SumsVerifyRequest.model_validate(rows("eval")[0].model_dump() | {"response": response})
    return asyncio.run(server.verify(body)).reward


def test_splits_load() -> None:
    assert len(rows("train")) == 4
    assert rows("eval")[0].expected == "11"


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
