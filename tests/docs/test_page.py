"""Commands that the how-to pages show are commands that exist."""

import re
import shlex
from pathlib import Path

import pytest

from assay.runtime.cli import VERBS, verb_parser

ROOT = Path(__file__).parents[2]
PAGES = (
    "audit.md",
    "editor.md",
    "evaluation.md",
    "judges.md",
    "parts.md",
    "plugin.md",
    "review.md",
    "sandboxes.md",
    "trackers.md",
)
COMMAND = re.compile(r"^\$ (?:source <\()?(assay [^>)#\n]*)", re.M)
LINK = re.compile(r"\]\(([^)#]+)\)")


@pytest.mark.parametrize("page", PAGES)
def test_every_command_parses(page: str) -> None:
    commands = [shlex.split(text)[1:] for text in COMMAND.findall((ROOT / "docs" / page).read_text())]
    assert len(commands) >= 4
    assert {verb for verb, *_ in commands} <= set(VERBS)
    for verb, *words in commands:
        verb_parser(verb).parse_intermixed_args(words)


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    links = [link for link in LINK.findall((ROOT / "docs" / page).read_text()) if not link.startswith("http")]
    assert [] == [link for link in links if not (ROOT / "docs" / link).exists()]
