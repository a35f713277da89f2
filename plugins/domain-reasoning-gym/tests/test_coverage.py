"""Every generator of the package is offered, or a reason says why it is not."""

from pathlib import Path

from assay_domain_reasoning_gym.exclusion import EXCLUDED
from assay_domain_reasoning_gym.recipe import QUICKSTART, RECIPES
from assay_domain_reasoning_gym.recipe.quickstart import WORDS


def test_each_generator_is_offered_or_has_a_reason() -> None:
    from reasoning_gym.factory import DATASETS

    offered = {recipe.generator for recipe in RECIPES.values()}

    assert set(DATASETS) == offered | set(EXCLUDED)
    assert len(DATASETS) == len(offered) + len(EXCLUDED)


def test_a_domain_is_named_after_its_generator() -> None:
    assert {name: name for name in RECIPES} == {name: recipe.generator for name, recipe in RECIPES.items()}


def test_at_least_ten_domains_and_four_of_the_quickstart() -> None:
    assert len(RECIPES) >= 10
    assert ["spell", "caesar", "spiral", "sort"] == list(QUICKSTART)


def test_readme_names_every_domain_and_every_reason() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text()

    for name in (*(f"quickstart.{name}" for name in QUICKSTART), *(f"reasoning_gym.{name}" for name in RECIPES)):
        assert f"| `{name}` |" in readme
    for name, reason in EXCLUDED.items():
        assert f"| `{name}` | {reason} |" in readme
    for word in WORDS:
        assert f"`{word}`" in readme
