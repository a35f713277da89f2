"""The compiler has nothing to say about any of the domains."""

from typing import Any

import pytest

from assay.core.registry import installed
from assay.dsl.compile import compile_offer


@pytest.fixture(scope="module")
def registry() -> Any:
    return installed()


def test_domain_compiles_without_finding_and_pays_one_for_a_right_answer(domain: Any, registry: Any) -> None:
    compiled = compile_offer(registry.find("domain", domain.id), registry)

    assert () == compiled.findings
    assert compiled.facts is not None
    assert (0.0, 1.0) == (compiled.facts.reward.lo, compiled.facts.reward.hi)
    assert compiled.facts.deterministic
