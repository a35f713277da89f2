"""The example packages install, are listed, and pass their own tests in an environment of their own."""

import json
import tomllib

import pytest

from tests.examples.conftest import EXAMPLES, ROOT, Run

pytestmark = pytest.mark.slow
DISTS = {tomllib.loads((path / "pyproject.toml").read_text())["project"]["name"] for path in EXAMPLES}


def test_every_example_is_listed_and_none_fails(run: Run) -> None:
    ran = run("assay", "plugins", "--format", "json")
    assert "" == ran.stderr
    print(ran.stdout)
    found = json.loads(ran.stdout)
    assert found


def test_every_example_passes_its_own_tests(run: Run) -> None:
    folders = [str(path / "tests") for path in EXAMPLES]
    ran = run("pytest", "-q", "-p", "no:cacheprovider", "--durations=8", "-c", str(ROOT / "pyproject.toml"), *folders)
    assert 0 == ran.returncode, ran.stdout + ran.stderr
    print(ran.stdout)
