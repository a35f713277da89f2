# verifiers 0.4.0
import json
from collections.abc import Iterator
from pathlib import Path

import verifiers.v1 as vf

PROMPT = '{question}\nEnd with a line "Answer: " and the number.'


class SumsData(vf.TaskData):
    expected: str


class SumsTask(vf.Task[SumsData]):
    @staticmethod
    def parse(text: str) -> str | None:
        _, found, rest = text.rpartition("Answer:")
        answer = rest.partition("\n")[0].strip()
        return answer if found and answer else None

    @vf.reward(weight=1.0)
    async def correct(self, trace: vf.Trace) -> float:
        return float(self.parse(trace.last_reply) == self.data.expected)

    @vf.reward(weight=-0.2)
    async def unparsed(self, trace: vf.Trace) -> float:
        return float(self.parse(trace.last_reply) is None)

    @vf.reward(weight=-0.1)
    async def length(self, trace: vf.Trace) -> float:
        return await self.correct(trace) * min(trace.num_output_tokens, 64) / 64


class SumsConfig(vf.TasksetConfig):
    split: str = "train"


class SumsTaskset(vf.Taskset[SumsTask, SumsConfig]):
    def load(self) -> Iterator[SumsTask]:
        for line in (Path(__file__).parent / f"{self.config.split}.jsonl").read_text().splitlines():
            row = json.loads(line)
            data = SumsData(prompt=PROMPT.format(**row), expected=row["expected"])
            yield SumsTask(data, self.config.task)
