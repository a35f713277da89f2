"""The example packages install side by side, pass their own tests, and leave no trace when they go."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.examples.conftest import EXAMPLES, ROOT, Environment, Run

pytestmark = pytest.mark.slow
OFFERED = {tomllib.loads((path / "pyproject.toml").read_text())["project"]["name"]: path.name for path in EXAMPLES}
DOMAIN = """\
assay: 1
domain: cited
version: 1
fields: {question: str, passages: "list[str]"}
data:
  train:
    - {question: When did Rome fall?, passages: ["Rome fell in 476."]}
prompt: "{question} {passages}"
verify:
  cite: citation.check(passages)
reward:
  outcome:
    grounded: 1.0*(cite.cited > 0 and cite.invented == 0)
"""
TWIN = """\
import assay

class Found(assay.Signals, frozen=True):
    cited: int

@assay.verifier("citation.check", version=1)
def check(answer: str | None, passages: list[str]) -> Found:
    \"\"\"Another one of that name.\"\"\"
    return Found(cited=0)

@assay.hookimpl
def assay_verifiers():
    return [check]
"""


def listed(run: Run, **variables: str) -> dict[str, Any]:
    ran = run("assay", "plugins", "--format", "json", **variables)
    assert "" == ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_every_example_offers_what_its_folder_is_named_after(run: Run) -> None:
    found = listed(run)
    assert ([], []) == (found["failures"], found["clashes"])
    offers = {plugin["dist"]: set(plugin["offers"]) for plugin in found["packages"] if plugin["dist"] in OFFERED}
    assert [] == [dist for dist, kind in OFFERED.items() if kind not in offers.get(dist, ())]


def test_every_example_passes_its_own_tests(run: Run) -> None:
    folders = [str(path / "tests") for path in EXAMPLES]
    options = ("-q", "-p", "no:cacheprovider", "--durations=10", "-c", str(ROOT / "pyproject.toml"))
    ran = run("pytest", *options, *folders)
    assert 0 == ran.returncode, ran.stdout + ran.stderr
    assert not re.search(r"skipped|deselected|xfailed", ran.stdout), ran.stdout


def test_domains_of_examples_are_sound_and_their_golden_cases_hold(run: Run) -> None:
    plugins = [plugin for plugin in listed(run)["packages"] if plugin["dist"] in OFFERED]
    names = [name for plugin in plugins for name in plugin["offers"].get("domain", ())]
    names = [Path(name).stem if name.endswith(".yaml") else name for name in names]
    assert "receipt" in names
    for words in (("check", "--strict"), ("test", "--controls")):
        ran = run("assay", *words, *names)
        assert (0, "") == (ran.returncode, ran.stderr), ran.stdout


def test_another_package_with_a_name_of_an_example_is_told_of_with_both(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cited.yaml").write_text(DOMAIN)
    ran = run("assay", "check", "cited.yaml")
    assert 0 == ran.returncode, ran.stdout
    # Found through PYTHONPATH, as a package under development may be.
    twin = tmp_path / "twin"
    (twin / "assay_twin-3.0.dist-info").mkdir(parents=True)
    (twin / "assay_twin-3.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: assay-twin\nVersion: 3.0\n"
    )
    (twin / "assay_twin-3.0.dist-info" / "entry_points.txt").write_text("[assay]\ntwin = assay_twin\n")
    (twin / "assay_twin.py").write_text(TWIN)
    (clash,) = listed(run, PYTHONPATH=str(twin))["clashes"]
    assert ("verifier", "citation.check") == (clash["kind"], clash["name"])
    ran = run("assay", "check", "cited.yaml", PYTHONPATH=str(twin))
    assert 1 == ran.returncode
    assert "error[PL001]" in ran.stdout
    assert {"assay-example-verifier 0.1.0", "assay-twin 3.0"} <= set(re.findall(r"assay-[a-z-]+ [\d.]+", ran.stdout))


def test_example_that_is_uninstalled_leaves_nothing_behind(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment")
    environment.install([ROOT / "examples" / "verifier"])
    (tmp_path / "cited.yaml").write_text(DOMAIN)
    ran = environment.run("assay", "check", "cited.yaml", cwd=tmp_path)
    assert 0 == ran.returncode, ran.stdout
    environment.pip("uninstall", "--quiet", "--yes", "assay-example-verifier")
    ran = environment.run("assay", "check", "cited.yaml", cwd=tmp_path)
    assert (1, True) == (ran.returncode, "error[RX006]: unknown verifier `citation.check`" in ran.stdout), ran.stdout
    assert "citation" not in environment.run("assay", "plugins", cwd=tmp_path).stdout
