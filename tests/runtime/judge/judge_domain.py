"""A domain whose verifier asks a judge, and plans that play it."""

from pathlib import Path
from typing import Any

from assay.core.registry import Registry
from assay.dsl.compile import compile_bytes
from assay.runtime.cli.try_ import try_plan
from assay.runtime.judge.open import attach_judge
from assay.runtime.run.build import build_entry
from assay.runtime.run.plan import RunPlan

DOMAIN = """\
assay: 1
domain: demo.kind
version: 1
fields: {question: str}
data:
  train:
    - {question: "How are you?"}
    - {question: "Who are you?"}
    - {question: "Where are you?"}
  eval:
    - {question: "How are you?"}
    - {question: "Who are you?"}
    - {question: "Where are you?"}
prompt: "{question}"
verify:
  quality: judge.score("large@1", "Is it kind?", question)
reward:
  gate:
    - {name: fair, if: not quality.suspicious, else: -1.0}
  outcome:
    kind: 1.0*quality.score
"""


def settings(url: str, **changed: Any) -> dict[str, Any]:
    """Return the group `judge` of a configuration; keys of the server's own go into `options`."""
    prices = ["large@1 1.0 10"]
    base = {"name": "openai", "concurrency": 4, "timeout_s": 5.0, "retries": 2, "patience_s": 30.0, "cache": True}
    options = {"base_url": url, "prices": prices, **changed.pop("options", {})}
    return {**base, **changed, "options": options}


def plan_of(text: str, registry: Registry, judge: dict[str, Any], base: Path = Path(), tasks: int = 3) -> RunPlan:
    """Return the plan of an evaluation."""
    entry = build_entry("kind", 1.0, compile_bytes(text.encode(), registry, "kind.yaml", base), registry)
    return attach_judge(try_plan(entry, "stub", registry, tasks=tasks), judge, registry)
