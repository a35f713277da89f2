import asyncio

import pytest
import verifiers.v1 as vf
from sums_v1 import SumsTaskset
from sums_v1.taskset import SumsConfig
from verifiers.v1.graph import MessageNode
from verifiers.v1.trace import AgentInfo, ModelCall, TraceTask

TASKS = list(SumsTaskset(SumsConfig(split="eval")))


def reward(text: str, tokens: int) -> float:
    task = TASKS[0]
    usage = vf.Usage(prompt_tokens=1, completion_tokens=tokens)
    trace = vf.Trace(
        task=TraceTask(type="SumsTask", data=task.data),
        agent=AgentInfo(config=vf.AgentConfig()),
        nodes=[MessageNode(message=vf.AssistantMessage(content=text), sampled=True)],
        calls=[ModelCall(node=0, usage=usage)],
    )
    asyncio.run(task.score(trace))
    return trace.reward


def test_splits_load() -> None:
    assert len(list(SumsTaskset(SumsConfig()))) == 4
    assert TASKS[0].data.expected == "11"


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
