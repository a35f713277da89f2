"""`assay schema`: one JSON document that knows the keys."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from assay.dsl.edition import CURRICULUM, DOMAIN
from assay.dsl.schema import Shape

Run = Callable[..., Any]


@pytest.mark.parametrize(("kind", "shape"), [("domain", DOMAIN), ("curriculum", CURRICULUM)])
def test_schema_has_the_keys_of_the_language(run: Run, kind: str, shape: Shape) -> None:
    ran = run("schema", kind)
    assert (0, "") == (ran.status, ran.err)
    assert set(shape.keys) == set(json.loads(ran.out)["properties"])
