# inspect-ai 0.3.285
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import TaskState, generate

PROMPT = '{question}\nEnd with a line "Answer: " and the number.'


def parse(text: str) -> str | None:
    _, found, rest = text.rpartition("Answer:")
    answer = rest.partition("\n")[0].strip()
    return answer if found and answer else None


@scorer(metrics={"*": [mean()]})
def graded() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        answer = parse(state.output.completion)
        correct = answer == target.text
        tokens = state.output.usage.output_tokens if state.output.usage else 0
        reward = 1.0 * correct - 0.2 * (answer is None) - 0.1 * correct * min(tokens, 64) / 64
        return Score(value={"reward": reward, "success": float(correct)}, answer=answer)

    return score


def to_sample(row: dict[str, Any]) -> Sample:
    return Sample(input=PROMPT.format(**row), target=row["expected"])


@task
def sums(split: str = "eval") -> Task:
    dataset = json_dataset(str(Path(__file__).parent / f"{split}.jsonl"), to_sample)
    return Task(dataset=dataset, solver=generate(), scorer=graded())
