"""Attributes of difficulty are reasoning-gym's own and reach the generator."""

from typing import Any

import pytest

import assay
from assay_domain_reasoning_gym.level import Attribute, attributes, levels, resolve
from assay_domain_reasoning_gym.recipe import RECIPES
from assay_domain_reasoning_gym.source import tasks


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
