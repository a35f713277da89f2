"""Test-time strategies: which of several answers to a held-out task counts."""

from assay.core.leaf import Factory
from assay.runtime.strategy.best_of import BestOf
from assay.runtime.strategy.majority import Majority

STRATEGIES = (
    Factory("majority", Majority, "The answer that most samples gave."),
    Factory("best_of", BestOf, "The sample with the highest score that a deployed system would have."),
)
