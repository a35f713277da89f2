"""A file with syntax errors: each is reported, the rest is checked all the same, and nothing follows from them."""

from pathlib import Path

import pytest

from assay.core.registry import Registry
from assay.dsl.compile import compile_bytes
from assay.dsl.curriculum import compile_curriculum
from assay.dsl.source.diagnostic import Finding
from assay.dsl.source.loader import load
from assay.runtime import builtin

BLOCKS = {
    "assay": "assay: 1\n",
    "domain": "domain: demo.case\n",
    "version": "version: 1\n",
    "summary": "summary: A case.\n",
    "fields": "fields:\n  q: str\n  expected: str\n  weight: float[0,2]\n",
    "data": "data:\n  train:\n    - {q: a, expected: b, weight: 1.0}\n    - {q: c, expected: d, weight: 2.0}\n",
    "prompt": "prompt: |\n  Answer {q}\n",
    "params": "params:\n  solve: 1.5\n",
    "episode": "episode:\n  max_tokens: 64\n",
    "verify": "verify:\n  ans: text.equal(expected)\n",
    "reward": (
        "reward:\n  outcome:\n    solved: weight*solve*ans.equal\n  efficiency:\n    when: success\n"
        "    short: -0.1*budget(trace.tokens, 64)\n"
    ),
    "group": "group:\n  size: 8\n  min_scored: 4\n",
    "examples": "examples:\n  - given: {ans.equal: true, weight: 1.0, trace.tokens: 0}\n    reward: 1.5\n",
    "controls": "controls:\n  oracle: {answer: '{expected}', reward: '> 1'}\n",
}
# What can be wrong with the first line below a key, by the rule that is broken.
BREAKS = {
    "tab": lambda block: block.replace("\n  ", "\n\t", 1),
    "bracket": lambda block: block.partition("\n")[0].partition(":")[0] + ": [a, b\n",
    "brace": lambda block: block.partition(":")[0] + ": {a: 1, b: 2\n",
    "quote": lambda block: block.partition(":")[0] + ': "never closed\n',
    "single quote": lambda block: block.partition(":")[0] + ": 'never closed\n",
    "indent": lambda block: block.partition(":")[0] + ":\n    a: 1\n  b: 2\n",
    "no colon": lambda block: block.partition(":")[0] + ":\n  a: 1\n  nothing\n  b: 2\n",
    "two values": lambda block: block.partition(":")[0] + ": a: b: c\n",
    "directive": lambda block: block.partition(":")[0] + ":\n  a: %x\n",
    "item": lambda block: block.partition(":")[0] + ":\n  a: 1\n  - b\n",
}
# What stands here is read as an expression, where these two are YM004 and what is left is the rest of the block.
EXPRESSIONS = {
    (key, how) for key in ("fields", "data", "verify", "reward", "require") for how in ("two values", "directive")
}


@pytest.fixture(scope="module")
def registry() -> Registry:
    registry = Registry()
    registry.add(builtin, "assay-rl", "0.1.0")
    return registry


def findings(text: str, registry: Registry) -> tuple[Finding, ...]:
    return compile_bytes(text.encode(), registry, "case.yaml", Path(".")).findings


def text_of(**changes: str) -> str:
    return "".join({**BLOCKS, **changes}.values())


def test_whole_file_is_sound(registry: Registry) -> None:
    assert () == findings(text_of(), registry)


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("key", BLOCKS)
def test_syntax_error_is_one_finding_in_its_block(key: str, how: str, registry: Registry) -> None:
    broken = BREAKS[how](BLOCKS[key])
    if broken == BLOCKS[key] or (key, how) in EXPRESSIONS:
        return  # a block of one line has nothing to indent
    found = findings(text_of(**{key: broken}), registry)
    first = "".join(list(BLOCKS.values())[: list(BLOCKS).index(key)]).count("\n") + 1

    assert 1 == len(found), [(one.code, one.span.line, one.message) for one in found]
    assert "YM005" == found[0].code
    assert first <= found[0].span.line <= first + broken.count("\n")


# A fault that has nothing to do with what is broken, by the block it is in.
OTHERS = {
    "version": ("version: none\n", "YM003"),
    "fields": (BLOCKS["fields"] + "  unused: nonsense\n", "YM003"),
    "verify": ("verify:\n  ans: text.eqal(expected)\n", "RX006"),
    "group": ("group:\n  size: 8\n  min_scored: 9\n", "YM003"),
    "episode": ("episode:\n  max_tokens: 64\n  max_tuns: 1\n", "YM002"),
}


@pytest.mark.parametrize("key", ["domain", "summary", "data", "prompt", "controls", "examples"])
@pytest.mark.parametrize("other", OTHERS)
def test_rest_of_the_file_is_checked(key: str, other: str, registry: Registry) -> None:
    text, code = OTHERS[other]
    alone = findings(text_of(**{other: text}), registry)
    both = findings(text_of(**{key: BREAKS["bracket"](BLOCKS[key]), other: text}), registry)

    assert code in {one.code for one in alone}
    kept = [(one.code, one.message) for one in both if one.code != "YM005"]
    assert [(one.code, one.message) for one in alone if one.code == code] == [one for one in kept if one[0] == code]
    assert set(kept) <= {(one.code, one.message) for one in alone}
    assert 1 == sum(one.code == "YM005" for one in both)


def test_several_syntax_errors_and_other_faults_come_in_one_pass(registry: Registry) -> None:
    found = findings(
        text_of(
            fields="fields:\n  q: str\n  expected: str\n  expected: int\n  weight: float[0,2]\n",
            prompt='prompt: "never closed\n',
            params="params:\n\tsolve: 1.5\n",
            group="group:\n  size: 8\n  sise: 8\n",
            controls="controls:\n    a: 1\n  b: 2\n",
        ),
        registry,
    )

    assert ["YM001", "YM005", "YM005", "YM002", "YM005"] == [one.code for one in found]


def test_line_without_a_key_hides_no_more_than_it_must(registry: Registry) -> None:
    found = findings(
        text_of(verify="verify:\n  ans: text.equal(expected)\n?? what\n", version="version: none\n"), registry
    )

    assert ["YM003", "YM005"] == sorted(one.code for one in found)


CURRICULUM = {
    "assay": "assay: 1\n",
    "curriculum": "curriculum: c\n",
    "mix": "mix:\n  a: {domain: a.yaml, share: 1}\n  b: {domain: a.yaml, share: 1, unlock: a.pass_rate > 0.5}\n",
    "balance": "balance: episodes\n",
    "stages": "stages:\n  one: {until: step >= 5, share: {a: 1}}\n  two: {until: forever}\n",
    "require": "require:\n  tier: [auto]\n",
}


def curriculum_findings(text: str, registry: Registry, base: Path) -> list[str]:
    loaded = load(text.encode(), "c.yaml")
    tree = loaded.rest if loaded.tree is None else loaded.tree
    if tree is None:
        return [one.code for one in loaded.findings]
    done = compile_curriculum(tree, registry, base, findings=loaded.findings, lost=loaded.lost)
    assert (done.curriculum is None) == bool(loaded.findings)
    return [one.code for one in done.findings]


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("key", CURRICULUM)
def test_syntax_error_of_a_curriculum_is_one_finding(key: str, how: str, registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text_of())
    broken = BREAKS[how](CURRICULUM[key])
    if broken != CURRICULUM[key] and (key, how) not in EXPRESSIONS:
        found = curriculum_findings("".join({**CURRICULUM, key: broken}.values()), registry, tmp_path)

        assert ["YM005"] == found


def test_domain_of_a_broken_curriculum_is_checked(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text_of(version="version: none\n", prompt='prompt: "never closed\n'))
    text = "".join({**CURRICULUM, "stages": "stages: [\n"}.values())

    assert ["YM003", "YM005", "YM005"] == sorted(curriculum_findings(text, registry, tmp_path))
