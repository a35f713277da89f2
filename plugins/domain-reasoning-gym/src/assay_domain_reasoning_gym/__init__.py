"""Domains of the reasoning-gym package, with short prompts and exact verifiers.

Importing this package and calling its hooks imports neither reasoning-gym nor sympy; that happens where a task is read.
"""

import assay
from assay_domain_reasoning_gym.check import VERIFIERS
from assay_domain_reasoning_gym.domain import quickstart_domains, reasoning_domains
from assay_domain_reasoning_gym.level import levels
from assay_domain_reasoning_gym.parser import last_line
from assay_domain_reasoning_gym.source import quickstart_tasks, tasks
from assay_domain_reasoning_gym.verifier import exact, number, palindrome

__all__ = ["assay_config_dirs", "assay_domains", "assay_parsers", "assay_sources", "assay_verifiers", "levels"]


@assay.hookimpl
def assay_domains() -> list[assay.Domain]:
    return [*quickstart_domains(), *reasoning_domains()]


@assay.hookimpl
def assay_sources() -> list[object]:
    return [tasks, quickstart_tasks]


@assay.hookimpl
def assay_verifiers() -> list[object]:
    return [exact, number, palindrome, *VERIFIERS]


@assay.hookimpl
def assay_parsers() -> list[object]:
    return [last_line]


@assay.hookimpl
def assay_config_dirs() -> list[str]:
    return ["assay_domain_reasoning_gym/conf"]
