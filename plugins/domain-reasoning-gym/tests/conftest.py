"""Grade answers as a domain declares."""

import re
from collections.abc import Callable
from typing import Any

import pytest

import assay
from assay_domain_reasoning_gym import assay_domains
from assay_domain_reasoning_gym.check import VERIFIERS as CHECKS
from assay_domain_reasoning_gym.parser import last_line
from assay_domain_reasoning_gym.source import Tasks, quickstart_tasks, tasks
from assay_domain_reasoning_gym.verifier import exact, number, palindrome

Grade = Callable[[assay.Domain, dict[str, Any], str], bool]

DOMAINS = {domain.id: domain for domain in assay_domains()}
VERIFIERS: dict[str, Any] = {verifier.name: verifier for verifier in (exact, number, palindrome, *CHECKS)}


@pytest.fixture
def grade() -> Grade:
    """Return a function from domain, row and final text to whether the answer is right."""

    def check(domain: assay.Domain, row: dict[str, Any], text: str) -> bool:
        match = re.fullmatch(r"([a-z_.]+)\(([\w, ]+)\)", domain.document["verify"]["ans"])
        assert match is not None
        answer = last_line(text) if "answer" in domain.document else text
        return bool(VERIFIERS[match[1]](answer, *(row[name] for name in match[2].split(", "))).equal)

    return check


@pytest.fixture(params=sorted(DOMAINS))
def domain(request: pytest.FixtureRequest) -> assay.Domain:
    """Each domain in turn."""
    return DOMAINS[request.param]


@pytest.fixture
def open_source() -> Callable[[assay.Domain, str, int], Tasks]:
    """Return a function from domain, split and size to the rows that the domain's `data` names."""

    def open_(domain: assay.Domain, split: str, size: int) -> Tasks:
        kind, _, name = domain.id.partition(".")
        source = quickstart_tasks if kind == "quickstart" else tasks
        rows: Tasks = source(name, size=size, split=split)
        return rows

    return open_


@pytest.fixture
def all_domains() -> dict[str, assay.Domain]:
    """Domains by name."""
    return DOMAINS


@pytest.fixture
def check_solver(all_domains: Any, open_source: Any, grade: Any) -> Callable[[str, Callable[[str], str], int], None]:
    """Grade what an independent solver and the row itself answer; both must earn the reward on every row."""

    def check(name: str, solve: Callable[[str], str], size: int) -> None:
        domain = all_domains[f"reasoning_gym.{name}"]
        source = open_source(domain, "eval", size)
        for index in range(size):
            row = source.read(index)
            solved = solve(row["question"])

            assert solved
            assert grade(domain, row, solved), (row, solved)
            assert grade(domain, row, row["expected"]), row

    return check
