"""Source text of a plugin whose leaves misbehave, and a domain that uses them."""

MODULE = """
import math
import time
from typing import Annotated

import assay


class Score(assay.Signals, frozen=True):
    value: Annotated[float, assay.signal(ge=0, le=1, better="up")]


@assay.verifier("hazard.right", version=1)
def right(answer: str | None, expected: str) -> Score:
    return Score(value=float(answer == expected))


@assay.verifier("hazard.raises", version=1)
def raises(answer: str | None, expected: str) -> Score:
    raise RuntimeError("nobody can read this answer")


@assay.verifier("hazard.nan", version=1)
def nan(answer: str | None, expected: str) -> Score:
    return Score(value=math.nan)


@assay.verifier("hazard.outside", version=1)
def outside(answer: str | None, expected: str) -> Score:
    return Score(value=7.0)


@assay.verifier("hazard.hangs", version=1, timeout="300ms")
def hangs(answer: str | None, expected: str) -> Score:
    time.sleep(3600)


class Rows:
    def __init__(self, broken):
        self.broken = broken

    def __len__(self):
        return 4

    def read(self, index):
        if index == self.broken:
            raise OSError("the disk has a hole here")
        return {"question": f"q{index}", "expected": "yes"}


@assay.source("hazard.rows", version=1)
def rows(broken: int = -1) -> Rows:
    return Rows(broken)


@assay.source("hazard.misfit", version=1)
def misfit() -> Rows:
    found = Rows(-1)
    read = found.read
    found.read = lambda index: {**read(index), "expected": 3} if index == 1 else read(index)
    return found


@assay.hookimpl
def assay_verifiers():
    return [right, raises, nan, outside, hangs]


@assay.hookimpl
def assay_sources():
    return [rows, misfit]
"""

DOMAIN = """
assay: 1
domain: hazard.try
version: 1
summary: A domain of a plugin that misbehaves.
fields: {{question: str, expected: str}}
data:
  train: "{source}"
  eval: "{source}"
prompt: "{{question}}"
verify:
  check: {verifier}(expected)
reward:
  outcome:
    correct: 1.0*check.value
"""
