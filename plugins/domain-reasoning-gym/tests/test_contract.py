"""Verifiers, parser, sources, config folder and the quickstart's domains keep the contracts of their kinds."""

import re
from functools import cache
from typing import Any

import pytest

from assay.testing import Case, ConfigDirContract, DomainContract, ParserContract, SourceContract, VerifierContract
from assay_domain_reasoning_gym import assay_domains, assay_verifiers
from assay_domain_reasoning_gym.parser import last_line
from assay_domain_reasoning_gym.source import quickstart_tasks, tasks

pytestmark = pytest.mark.slow
FIELDS = {"question": "str", "expected": "str"}
# All leaves run in one kind of process, which the first one tries.
SAME_PROCESS = dict.fromkeys(name for name in dir(VerifierContract) if "process" in name or "next_call" in name)


@cache
def cases_of(verifier: Any) -> list[Case]:
    """Return the first rows of a domain that the verifier grades, each with its right answer and with none."""
    cases = []
    for domain in assay_domains():
        call = re.fullmatch(r"([a-z_.]+)\(([\w, ]+)\)", domain.document["verify"]["ans"])
        if call is None or call[1] != verifier.name:
            continue
        kind, _, name = domain.id.partition(".")
        source = (quickstart_tasks if kind == "quickstart" else tasks)(name, size=3, split="eval")
        for row in map(source.read, range(3)):
            names = [parameter.name for parameter in verifier.bound_parameters]
            given = dict(zip(names, (row[field] for field in call[2].split(", ")), strict=True))
            cases += [Case(row["expected"], given, {"equal": True})] if row["expected"] else []
            cases.append(Case("", given, {"equal": False}))
        break
    return cases


offered: list[Any] = assay_verifiers()
for index, verifier in enumerate(offered):
    # Rows are made when a clause asks for them: finding this file's tests must not load reasoning-gym.
    cases = property(lambda self: cases_of(self.verifier))
    contract = VerifierContract.of(verifier, cases=cases, **({} if index == 0 else SAME_PROCESS))
    globals()[f"Test{verifier.name.rpartition('.')[2].title().replace('_', '')}"] = contract

TestLastLine = ParserContract.of(
    last_line,
    cases=[Case("It is\n 42 \n\n", gives="42"), Case("\n \n", gives=None)],
    is_idempotent=True,
    **SAME_PROCESS,
)
# `test_source.py` reads rows of every domain in processes of their own.
SOURCE: dict[str, Any] = {"fields": FIELDS, "seed": "seed", "size": 40, "test_every_process_reads_the_same_rows": None}
TestTasks = SourceContract.of(tasks, arguments={"generator": "gcd", "size": 40}, **SOURCE)
TestQuickstartTasks = SourceContract.of(quickstart_tasks, arguments={"domain": "spell", "size": 40}, **SOURCE)
TestConf = ConfigDirContract.of("assay_domain_reasoning_gym/conf")
TestSpell = DomainContract.of("quickstart.spell")
TestCaesar = DomainContract.of("quickstart.caesar")
TestSpiral = DomainContract.of("quickstart.spiral")
TestSort = DomainContract.of("quickstart.sort")
