"""How an entry of each generator becomes a task: one module per kind of task, one recipe per domain."""

from assay_domain_reasoning_gym.recipe import algebra, arithmetic, board, grid, path, program, quickstart, story, text
from assay_domain_reasoning_gym.recipe.base import Recipe

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for module in (text, arithmetic, algebra, grid, program, story, board, path)
    for recipe in module.RECIPES
}
QUICKSTART: dict[str, Recipe] = {recipe.name: recipe for recipe in quickstart.RECIPES}
