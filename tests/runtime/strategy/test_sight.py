"""Which signals a strategy may see: those of verifiers that read nothing the prompt does not show."""

import importlib.metadata
from pathlib import Path
from types import SimpleNamespace

import assay
from assay.core.registry import Registry
from assay.dsl.compile import compile_bytes
from assay.runtime import builtin
from assay.runtime.run.build import build_entry
from assay.runtime.strategy.sight import hidden, visible

DOMAIN = """\
assay: 1
domain: see.me
version: 1
fields: {q: str, hint: str, expected: str}
data:
  train: [{q: a, hint: b, expected: "10"}]
system: "Think of {hint}."
prompt: "{q}"
params: {tol: 0.5}
verify:
  exact: text.equal(expected)
  near: number.equal(expected, abs=tol)
  echo: text.equal(q)
  told: text.equal(hint)
  judge: judge.score(model="m@1", rubric="Is it kind?", question=q)
  prefer: judge.prefer(model="m@1", reference=expected, criteria="Which is kinder?", question=q)
  whole: see.episode()
  alone: see.answer()
reward:
  outcome:
    all: >-
      exact.equal + near.equal + echo.equal + told.equal + judge.score + prefer.preferred + whole.good + alone.good
"""


class Seen(assay.Signals, frozen=True):
    good: bool


@assay.verifier("see.episode", version=1)
def whole(episode: assay.Episode) -> Seen:
    """See the whole task."""
    return Seen(good=bool(episode.task))


@assay.verifier("see.answer", version=1)
def alone(answer: str | None) -> Seen:
    """See the answer alone."""
    return Seen(good=bool(answer))


def test_only_verifiers_that_read_the_prompt_alone_are_seen() -> None:
    version = importlib.metadata.version("assay-rl")
    registry = Registry()
    registry.add(builtin, "assay-rl", version)
    registry.add(SimpleNamespace(assay_verifiers=assay.hookimpl(lambda: [whole, alone])), "assay-rl", version)
    compiled = compile_bytes(DOMAIN.encode(), registry, "see.yaml", Path("."))
    entry = build_entry("see", 1.0, compiled, registry)
    assert {"echo", "told", "judge", "alone"} == visible(entry)
    assert hidden(entry, "judge.score") is None
    must, todo = hidden(entry, "whole.good") or ("", "")
    assert "needs no reference answer, but `see.episode` reads expected" == must
    assert "pass@n" in todo
    assert "There is alone.good, echo.equal" in (hidden(entry, "judge.beauty") or ("", ""))[1]
