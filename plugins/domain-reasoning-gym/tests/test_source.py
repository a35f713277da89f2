"""Rows depend on arguments and index, and on nothing else."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

import assay
from assay_domain_reasoning_gym.source import quickstart_tasks, tasks

PROGRAM = """
import json
from assay_domain_reasoning_gym import assay_domains
from assay_domain_reasoning_gym.source import quickstart_tasks, tasks
rows = {}
for domain in assay_domains():
    kind, _, name = domain.id.partition(".")
    source = quickstart_tasks if kind == "quickstart" else tasks
    sources = [source(name, size=40, split=split) for split in ("train", "demos", "eval")]
    rows[domain.id] = [source.read(index) for source in sources for index in (0, 9)]
print(json.dumps(rows))
"""


def read_rows(hash_seed: str) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment)
    rows: dict[str, Any] = json.loads(done.stdout)
    return rows


@pytest.mark.slow
def test_every_process_reads_the_same_rows() -> None:
    assert read_rows("1") == read_rows("2")


def test_options_reach_the_generator() -> None:
    source = tasks("spell_backward", size=20, min_word_len=3, max_word_len=3)

    assert {3} == {len(source.read(index)["expected"]) for index in range(20)}


def test_only_demonstrations_have_a_completion() -> None:
    for split, keys in (("train", 2), ("eval", 2), ("demos", 3)):
        assert keys == len(tasks("gcd", size=1, split=split).read(0))
    demo = tasks("gcd", size=1, split="demos").read(0)
    assert demo["expected"] == demo["completion"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tasks("no_such"), "'no_such'"),
        (lambda: quickstart_tasks("gcd"), "spell"),
        (lambda: tasks("gcd", split="test"), "train, demos or eval"),
        (lambda: tasks("gcd", size=0), "at least 1"),
        (lambda: tasks("gcd", size=3).read(3), "0..2"),
        (lambda: tasks("gcd", size=3).read(-1), "0..2"),
        (lambda: tasks("gcd", size=1, max_nmbers=3).read(0), "max_nmbers"),
        (lambda: tasks("gcd", size=1, min_value=9, max_value=3).read(0), "max_value"),
        (lambda: tasks("spell_backward", size=1, max_word_len=1, min_word_len=1).read(0), "spell_backward"),
        (lambda: tasks("count_bits", size=200, max_n=20, split="eval").read(199), "Ask for fewer"),
    ],
)
def test_bad_arguments_are_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(assay.AssayError, match=message):
        call()
