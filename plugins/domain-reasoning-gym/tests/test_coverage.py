"""Every generator of the package is offered, or a reason says why it is not."""

from assay_domain_reasoning_gym.exclusion import EXCLUDED, WITHOUT_RECIPE
from assay_domain_reasoning_gym.recipe import QUICKSTART, RECIPES


def test_each_generator_is_offered_or_has_a_reason() -> None:
    from reasoning_gym.factory import DATASETS

    offered = {recipe.generator for recipe in RECIPES.values()}

    assert set(DATASETS) == offered | set(EXCLUDED) | set(WITHOUT_RECIPE)
    assert len(DATASETS) == len(offered) + len(EXCLUDED) + len(WITHOUT_RECIPE)


def test_a_domain_is_named_after_its_generator() -> None:
    assert {name: name for name in RECIPES} == {name: recipe.generator for name, recipe in RECIPES.items()}


def test_at_least_ten_domains_and_four_of_the_quickstart() -> None:
    assert len(RECIPES) >= 10
    assert ["spell", "caesar", "spiral", "sort"] == list(QUICKSTART)
