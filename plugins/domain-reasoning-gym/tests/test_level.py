"""Attributes of difficulty are reasoning-gym's own and reach the generator."""

from pathlib import Path
from typing import Any

import pytest

import assay
from assay.core.registry import installed
from assay.dsl.curriculum import CompiledCurriculum, compile_curriculum
from assay.dsl.source.loader import load
from assay.runtime.source.level import climb
from assay_domain_reasoning_gym.ladder import LADDERS
from assay_domain_reasoning_gym.level import Attribute, attributes, levels, resolve
from assay_domain_reasoning_gym.recipe import RECIPES
from assay_domain_reasoning_gym.source import tasks


def compiled(text: str) -> CompiledCurriculum:
    tree = load(f"assay: 1\ncurriculum: c\n{text}".encode(), "c.yaml").tree
    assert tree is not None
    return compile_curriculum(tree, installed(), Path())


def test_levels_are_those_of_the_packages_curriculum() -> None:
    assert {"word_len": (3, 5, 7, 9, 11)} == levels("spell_backward")


def test_value_of_a_range_sets_both_bounds() -> None:
    source = tasks("spell_backward", size=30, word_len=5)

    assert {5} == {len(source.read(index)["expected"]) for index in range(30)}


def test_value_of_a_scalar_is_the_option() -> None:
    source = tasks("ab", size=30, length=5)

    assert {5} == {len(source.read(index)["question"].split()) for index in range(30)}


def test_attribute_wins_over_the_recipes_and_the_callers_options() -> None:
    assert "max_word_len" in RECIPES["spell_backward"].config
    source = tasks("spell_backward", size=9, word_len=3, max_word_len=11)

    assert {3} == {len(source.read(index)["expected"]) for index in range(9)}


@pytest.mark.parametrize(
    ("value", "bounds"),
    [(10, (10, 50)), (50, (50, 100)), (100, (50, 100)), (20, (20, 50)), (200, (100, 200)), ([7, 3], (3, 7))],
)
def test_interval_reaches_to_the_next_level_and_at_the_top_from_the_one_before(value: Any, bounds: Any) -> None:
    attribute = Attribute("n", (10, 50, 100), ("min_n", "max_n"), is_interval=True)

    assert {"min_n": bounds[0], "max_n": bounds[1]} == attribute.value_to_options(value)


def test_ladder_that_check_reads_is_that_of_the_package() -> None:
    assert {name: levels(recipe.generator) for name, recipe in RECIPES.items()} == LADDERS


def test_every_ladder_is_sound_in_a_curriculum_and_rises_one_attribute_at_a_time() -> None:
    entries = "".join(f"  {name}: {{domain: reasoning_gym.{name}}}\n" for name in RECIPES)
    rungs = "".join(
        f"  {name}: {{{', '.join(f'{attribute}: auto' for attribute in ladder)}}}\n" for name, ladder in LADDERS.items()
    )
    found = compiled(f"mix:\n{entries}levels:\n{rungs}")

    assert () == found.findings
    assert found.curriculum is not None
    for name, attributes_ in found.curriculum.levels.items():
        assert {key: list(values) for key, values in LADDERS[name].items()} == attributes_
        assert 1 + sum(len(values) - 1 for values in attributes_.values()) == len(climb(attributes_))


@pytest.mark.parametrize(
    ("rung", "underlined", "message"),
    [
        ("word_length: [3]", "word_length", "no attribute `word_length`"),
        ("word_len: [3, '5']", "'5'", "`word_len` must be int, got '5'"),
        ("word_len: [3, 5.5]", "5.5", "`word_len` must be int, got 5.5"),
        ("word_len: [7, 5]", "5", "`word_len` must go from easy to hard, got 5 behind 7"),
        ("word_len: [5, 5]", "5", "`word_len` must have different values, got 5 twice"),
        ("word_len: 5", "5", "`word_len` must have a list of values"),
        ("word_len: []", "[]", "`word_len` must have a list of values"),
        ("size: auto", "auto", "got auto of a source that states none"),
        ("generator: [1]", "1", "`generator` must be str, got 1"),
    ],
)
def test_level_that_the_generator_does_not_have_is_one_finding(rung: str, underlined: str, message: str) -> None:
    found = compiled(
        f"mix:\n  spell: {{domain: reasoning_gym.spell_backward}}\nlevels:\n  spell:\n    {rung}\n"
    ).findings

    assert ["CU001"] == [one.code for one in found]
    assert message in found[0].message
    span = found[0].span
    assert underlined == span.source[span.column - 1 : span.end_column - 1]


def test_ladder_that_falls_is_climbed_downwards() -> None:
    mix = "mix:\n  a: {domain: reasoning_gym.binary_matrix}\nlevels:\n  a: {p_zero: "

    assert () == compiled(mix + "[0.5, 0.1]}\n").findings
    assert ["CU001"] == [one.code for one in compiled(mix + "[0.1, 0.5]}\n").findings]


def test_generator_without_curriculum_has_no_attribute() -> None:
    assert {} == levels("gsm_symbolic")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tasks("spell_backward", size=1, word_length=3).read(0), "word_len.*min_word_len.*got word_length"),
        (lambda: levels("no_such"), "no_such"),
        (lambda: resolve("gsm_symbolic", {"word_len": 3}), "it has none.*got word_len"),
        (lambda: resolve("gcd", {"seed": 3}), "got seed"),
    ],
)
def test_unknown_name_is_refused_and_the_known_ones_are_listed(call: Any, message: str) -> None:
    with pytest.raises(assay.AssayError, match=message) as caught:
        call()

    assert "DA001" == caught.value.error_code


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(RECIPES))
def test_easiest_levels_make_tasks(name: str) -> None:
    easiest = {attribute.name: attribute.levels[0] for attribute in attributes(name).values()}

    assert tasks(name, size=1, **easiest).read(0)["expected"]
