"""Domains: each recipe as a declaration."""

import assay
from assay_domain_reasoning_gym.recipe import QUICKSTART, RECIPES
from assay_domain_reasoning_gym.recipe.base import Recipe

TRAIN_SIZE, DEMO_SIZE = 20_000, 20_000

EXAMPLES = [
    {"given": {"ans.equal": True}, "reward": 1.0},
    {"given": {"ans.equal": False}, "reward": 0.0},
]
CONTROLS = {
    "oracle": {"answer": "{expected}", "reward": "> 0.99"},
    "nop": {"answer": "", "reward": "< 0.01"},
    "padded": {"answer": "{expected}{expected}x", "reward": "< 0.01"},
}


def quickstart_domains() -> list[assay.Domain]:
    """Return the four domains of the quickstart, which answer with nothing but the answer."""
    return [_domain(f"quickstart.{name}", recipe, "quickstart.tasks", None) for name, recipe in QUICKSTART.items()]


def reasoning_domains() -> list[assay.Domain]:
    """Return one domain per generator; the last line of the text is the answer."""
    return [
        _domain(f"reasoning_gym.{name}", recipe, "reasoning_gym.tasks", "reasoning_gym.last_line()")
        for name, recipe in RECIPES.items()
    ]


def _domain(name: str, recipe: Recipe, source: str, answer: str | None) -> assay.Domain:
    sizes = {"train": TRAIN_SIZE, "eval": recipe.eval_size, "demos": DEMO_SIZE}
    return assay.Domain(
        domain=name,
        version=1,
        summary=recipe.summary,
        fields={"question": "str", "expected": "str"},
        data={split: f'{source}("{recipe.name}", size={size})' for split, size in sizes.items()},
        prompt=recipe.prompt,
        answer=answer,
        episode={"max_turns": 1, "max_tokens": recipe.max_tokens},
        verify={"ans": recipe.verify},
        reward={"outcome": {"correct": "1.0*ans.equal"}},
        group={"size": 8, "min_scored": 4},
        examples=EXAMPLES,
        controls=CONTROLS,
    )
