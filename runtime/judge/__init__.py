"""Judges: models that are asked what an answer is worth, reached from the trusted host of verifiers."""

from assay.core.leaf import Factory

JUDGES = (
    Factory(
        "openai",
        "assay.runtime.judge.openai:OpenAIJudge",
        "Any server that speaks OpenAI's chat completions over HTTP.",
    ),
)
