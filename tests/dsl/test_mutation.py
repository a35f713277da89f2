"""The law of edits: a change of the meaning changes the digest or yields a finding, and no text is an exception."""

import ast
import contextlib
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.dsl.compile import Compiled
from assay.dsl.source.diagnostic import render
from assay.dsl.source.loader import load
from assay.dsl.source.mark import Mapping, Node, Scalar, Sequence

Compile = Callable[[str], Compiled]

# Nothing in it has two spellings: a default that is written, or an argument by keyword that could stand in order.
VALID = """\
assay: 1
domain: test.case
version: 3
fields:
  q: str
  weight: float[0,2]
  names: list[str]
data:
  train:
    - {q: one, weight: 1.5, names: [a, b]}
    - {q: "two", weight: 0.5, names: []}
system: You are careful.
prompt: |
  Say {q}
params: {solve: 1.6, keep: 0.4, low: -3}
answer: test.boxed_answer("#")
episode: {max_turns: 60, max_tokens: 64k}
sandbox: {image: python-3.11, net: full, cpu: 2, memory: 4GiB, time: 20min}
verify:
  m: test.measure()
  b: test.boxed(names, True)
reward:
  success: m.rate == 1 and m.good
  gate:
    - name: readable
      if: trace.parsed
      else: low
    - if: not m.bad and m.failed < 9
      else: -3.5
  outcome:
    solved: weight*(solve*m.rate*m.good + keep*m.good*(m.rate > 0))
    boxed: "0.1*b.score if m.mode == 'x' else 0.05*b.score"
    listed: 0.1*mean(m.scores, default=0) + 0.01*min(count(m.flags), 3)
  process:
    invalid: -0.2*min(trace.invalid_calls, 3)
  efficiency:
    when: success
    steps: -0.01*min(trace.turns, 40)
group: {size: 6, min_scored: 2}
"""
TOKEN = re.compile(r"\n *|\s+|[\w.]+|.")
TOKENS = TOKEN.findall(VALID)
NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?(e[0-9]+)?|\.[0-9]+")
# What people leave behind, and what YAML and Python have opinions about.
PIECES = [
    *sorted(set(TOKENS)), "#", " # ", "'", '"', "~", "null", "yes", "!", "&a", "*a", "|", ">", "%", "@", "`",
    "\t", "\r", "<<", "- ", "? ", "...", "---", "{{", "}}", "${x}", "\\", "1e999", "9" * 400, "-0.0", "0x10", "1_000",
    "nan", "inf", "**", "lambda", "None", "True", "exp(", "budget(", "m.loss", "m.delta", "trace.wall_s", "x.y.z", "_a",
    "\u00e9", "\U0001f600", "\u202e", "\x00", "\x85", "\u2028", "k", "M", "GiB",
]  # fmt: skip

mutations = st.lists(
    st.tuples(
        st.sampled_from(["drop", "put", "replace", "repeat", "swap"]),
        st.integers(0, len(TOKENS) - 1),
        st.sampled_from(PIECES),
    ),
    min_size=1,
    max_size=2,
)


def mutate(edits: list[tuple[str, int, str]]) -> str:
    tokens = list(TOKENS)
    for what, at, piece in edits:
        at = min(at, len(tokens) - 1)
        match what:
            case "drop":
                del tokens[at]
            case "put":
                tokens.insert(at, piece)
            case "replace":
                tokens[at] = piece
            case "repeat":
                tokens.insert(at, tokens[at])
            case "swap":
                tokens[at], tokens[at - 1] = tokens[at - 1], tokens[at]
    return "".join(tokens)


def meaning(node: Node, path: tuple[str, ...] = ()) -> Any:
    """Return what a tree says, without its spelling: read by Python's own parser, not by the language's."""
    if isinstance(node, Mapping):
        return {entry.key.text: meaning(entry.value, (*path, entry.key.text)) for entry in node}
    if isinstance(node, Sequence):
        return [meaning(item, path) for item in node.items]
    assert isinstance(node, Scalar)
    text = node.text
    if path[0] in ("system", "prompt") or (path[0] == "data" and path[-1] in ("q", "names")):
        return text
    if path[0] in ("verify", "answer", "reward") and path[-1] != "name":
        with warnings.catch_warnings(), contextlib.suppress(SyntaxError, ValueError):
            warnings.simplefilter("ignore")
            return ast.dump(ast.parse(" ".join(text.split()), mode="eval"))
    return NUMBER.sub(lambda match: repr(float(match[0])), "".join(text.split()).removeprefix("+"))


def check_law(before: Compiled, compile_text: Compile, text: str) -> None:
    after = compile_text(text)
    for found in after.findings:
        render(found)
        assert 1 <= found.span.column <= found.span.end_column
    if after.program is None:
        assert any(found.severity == "error" for found in after.findings)
        return
    first, second = load(VALID.encode(), "v").tree, load(text.encode(), "v").tree
    assert first is not None
    assert second is not None
    if after.findings == before.findings == () and meaning(first) != meaning(second):
        digests = before.require().digest, after.program.digest
        assert digests[0] != digests[1]


@pytest.fixture(scope="module")
def valid(compile_text: Compile) -> Compiled:
    return compile_text(VALID)


@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutations)
def test_an_edit_of_the_meaning_changes_the_digest_or_yields_a_finding(
    compile_text: Compile, valid: Compiled, edits: list[tuple[str, int, str]]
) -> None:
    check_law(valid, compile_text, mutate(edits))


@pytest.mark.slow
def test_every_number_and_word_of_a_file_matters(compile_text: Compile, valid: Compiled) -> None:
    for at, token in enumerate(TOKENS):
        if token[0].isdigit():
            check_law(valid, compile_text, mutate([("replace", at, f"{token}1")]))
        elif token[0].isalpha():
            check_law(valid, compile_text, mutate([("drop", at, "")]))


def test_the_file_that_is_edited_is_without_findings(valid: Compiled) -> None:
    assert () == valid.findings
