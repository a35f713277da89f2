"""How an entry of each generator becomes a task: one module per kind of task, one recipe per domain."""

from assay_domain_reasoning_gym.recipe import arithmetic, grid, quickstart, text
from assay_domain_reasoning_gym.recipe.base import Recipe

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in (*text.RECIPES, *arithmetic.RECIPES, *grid.RECIPES)}
QUICKSTART: dict[str, Recipe] = {recipe.name: recipe for recipe in quickstart.RECIPES}
