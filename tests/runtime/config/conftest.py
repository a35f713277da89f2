"""A registry whose packages are made for the test, and a short way to compose."""

from collections.abc import Callable

import pytest

from assay.core.registry import Registry
from assay.runtime import builtin
from assay.runtime.config.composition import Composition, compose
from assay.runtime.config.override import read_overrides

Compose = Callable[..., Composition]


@pytest.fixture(scope="session")
def registry() -> Registry:
    """What Assay itself offers."""
    registry = Registry()
    registry.add(builtin, "assay-rl", "0.1.0")
    return registry


@pytest.fixture
def composed(registry: Registry) -> Compose:
    """Compose texts that have a legal shape."""

    def run(*texts: str, registry: Registry = registry) -> Composition:
        overrides, findings = read_overrides(texts)
        assert [] == findings
        return compose(overrides, registry)

    return run
