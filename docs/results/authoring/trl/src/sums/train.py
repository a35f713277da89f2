import sys
from pathlib import Path
from typing import Any

from datasets import Dataset, load_dataset
from trl import GRPOConfig, GRPOTrainer

from sums.reward import PROMPT, REWARDS, WEIGHTS


def to_prompt(row: dict[str, Any]) -> dict[str, Any]:
    return {"prompt": [{"role": "user", "content": PROMPT.format(**row)}]}


def split(name: str) -> Dataset:
    return load_dataset("json", data_files=str(Path(__file__).parent / f"{name}.jsonl"), split="train").map(to_prompt)


def trainer(model: str, output: str, **settings: Any) -> GRPOTrainer:
    args = GRPOConfig(output_dir=output, reward_weights=WEIGHTS, eval_strategy="epoch", **settings)
    return GRPOTrainer(
        model=model, reward_funcs=REWARDS, args=args, train_dataset=split("train"), eval_dataset=split("eval")
    )


if __name__ == "__main__":
    trainer(sys.argv[1], sys.argv[2]).train()
