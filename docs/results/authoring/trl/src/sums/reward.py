# trl 1.16.0
from typing import Any

PROMPT = '{question}\nEnd with a line "Answer: " and the number.'


def parse(text: str) -> str | None:
    _, found, rest = text.rpartition("Answer:")
    answer = rest.partition("\n")[0].strip()
    return answer if found and answer else None


def answers(completions: list[list[dict[str, str]]]) -> list[str | None]:
    return [parse(messages[-1]["content"]) for messages in completions]


def correct(completions: list[list[dict[str, str]]], expected: list[str], **_: Any) -> list[float]:
    return [float(answer == right) for answer, right in zip(answers(completions), expected, strict=True)]


def unparsed(completions: list[list[dict[str, str]]], **_: Any) -> list[float]:
    return [-float(answer is None) for answer in answers(completions)]


def length(
    completions: list[list[dict[str, str]]], completion_ids: list[list[int]], expected: list[str], **_: Any
) -> list[float]:
    right = correct(completions, expected)
    return [-is_right * min(len(ids), 64) / 64 for is_right, ids in zip(right, completion_ids, strict=True)]


REWARDS, WEIGHTS = [correct, unparsed, length], [1.0, 0.2, 0.1]
