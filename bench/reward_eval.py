"""The two back ends of a reward: against the same reward written by hand in Python, and over columns."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

from assay.core.registry import installed
from assay.dsl.compile import compile_bytes
from assay.dsl.reduce import Grader

NAME = "reward_eval"
EPISODES = 20_000
ROWS = 10_000_000
REPEATS = 9

DOMAIN = b"""assay: 1
domain: bench.reward
version: 1
fields: {expected: str, weight: "float[0,2]"}
data:
  train:
    - {expected: "2", weight: 1.0}
prompt: "{expected}"
params: {solve: 1.6, keep: 0.4}
verify:
  num: number.equal(expected)
  txt: text.equal(expected)
reward:
  success: num.equal
  gate:
    - if: num.parsed
      else: -1.5
  outcome:
    solved: weight*(solve*num.equal + keep*txt.equal)
  process:
    invalid: -0.2*min(trace.invalid_calls, 3)
  efficiency:
    when: success
    steps: -0.01*min(trace.turns, 40)
"""


def by_hand(signals: Any, fields: Any) -> float:
    """The same reward as a person would write it."""
    num, trace = signals["num"], signals["trace"]
    if not num["parsed"]:
        return -1.5
    reward = fields["weight"] * (1.6 * num["equal"] + 0.4 * signals["txt"]["equal"])
    reward += -0.2 * min(trace["invalid_calls"], 3)
    if num["equal"]:
        reward += -0.01 * min(trace["turns"], 40)
    return float(reward)


def run() -> dict[str, float]:
    """Return the ratio of the scalar back end to hand-written Python, and rows a second over columns."""
    compiled = compile_bytes(DOMAIN, installed(), "reward.yaml", Path())
    grader = Grader(compiled.require())
    random = numpy.random.default_rng(0)
    rows = [_row(random) for _ in range(EPISODES)]
    for signals, fields in rows:
        assert abs(grader.reward(signals, fields) - by_hand(signals, fields)) < 1e-12
    ratios = []
    for _ in range(REPEATS):
        ratios.append(_seconds(grader.reward, rows) / _seconds(by_hand, rows))
    columns = {name: _column(name, random) for name in grader.column_names()}
    grader.columns(columns, ROWS)
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        grader.columns(columns, ROWS)
        seconds.append(time.process_time() - begin)
    return {"scalar_over_python": statistics.median(ratios), "vector_per_s": ROWS / min(seconds)}


def _row(random: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    trace = {"invalid_calls": int(random.integers(0, 6)), "turns": int(random.integers(1, 60))}
    equal = bool(random.integers(0, 2))
    num = {"equal": equal, "parsed": equal or bool(random.integers(0, 2))}
    signals = {"num": num, "txt": {"equal": bool(random.integers(0, 2))}, "trace": trace}
    return signals, {"weight": float(random.random())}


def _column(name: str, random: Any) -> Any:
    if name == "weight":
        return random.random(ROWS)
    if name.startswith("trace."):
        return random.integers(0, 60, ROWS).astype(numpy.float64)
    return random.integers(0, 2, ROWS).astype(bool)


def _seconds(reward: Callable[[Any, Any], float], rows: list[tuple[Any, Any]]) -> float:
    begin = time.process_time()
    for signals, fields in rows:
        reward(signals, fields)
    return time.process_time() - begin
