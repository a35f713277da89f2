"""The page of evidence names sabotages that are there, with their tests."""

import importlib.util
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "evidence" / "compiler.md").read_text()
HEADLINE = re.compile(r"^\| .* \| `(\w+)`: (.*) \| `(.*)` \|$", re.M)


def test_the_sabotages_that_the_page_begins_with_are_in_their_lists() -> None:
    spec = importlib.util.spec_from_file_location("page", ROOT / "tests" / "sabotage" / "page.py")
    assert spec is not None and spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    found = HEADLINE.findall(TEXT)
    assert 4 == len(found)
    for name, what, test in found:
        assert (what, test) in page.rows(name)
        assert f"| {what} | `{test}` |" in TEXT


def test_every_test_of_the_page_is_a_file() -> None:
    named = set(re.findall(r"`((?:tests|plugins)/[^` ]+?\.py)", TEXT))
    assert len(named) > 20
    assert [] == [name for name in sorted(named) if not (ROOT / name).exists()]


def test_every_sabotage_still_finds_what_it_breaks() -> None:
    stale = []
    for path in sorted((ROOT / "tests" / "sabotage").glob("*.toml")):
        for item in tomllib.loads(path.read_text())["sabotage"]:
            if 1 != (ROOT / item["file"]).read_text().count(item["old"]):
                stale.append(f"{path.stem}: {item['what']}")
    assert [] == stale
