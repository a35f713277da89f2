"""Declarations: a domain written in Python, and where written files lie in a package.

`Domain` is the Python door. It holds the same keys and values as a domain file and goes through the same compiler, so
equal content gives an equal program and an equal digest.
"""

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.error import PluginError


class DomainFile(msgspec.Struct, frozen=True, array_like=True):
    """A domain file inside a package."""

    path: Path


class Domain:
    """A domain declared in Python.

    Keyword arguments are the keys of a domain file and take the same values: texts for expressions, calls and types;
    numbers, texts and mappings elsewhere. Findings point at the line that made the call.

    Example:
        >>> adder = Domain(
        ...     domain="demo.adder", version=1, summary="Add.",
        ...     fields={"question": "str", "expected": "str"},
        ...     data={"train": [{"question": "1+1", "expected": "2"}]},
        ...     prompt="{question}", verify={"ans": "text.equal(expected)"},
        ...     reward={"outcome": {"correct": "1.0*ans.equal"}},
        ... )
        >>> adder.id
        'demo.adder'
    """

    def __init__(
        self,
        *,
        domain: str,
        version: int,
        summary: str = "",
        fields: Mapping[str, str],
        data: Mapping[str, Any],
        prompt: str,
        verify: Mapping[str, str],
        reward: Mapping[str, Any],
        system: str | None = None,
        params: Mapping[str, float] | None = None,
        answer: str | None = None,
        episode: Mapping[str, Any] | None = None,
        sandbox: Mapping[str, Any] | None = None,
        group: Mapping[str, int] | None = None,
        allow: Sequence[Mapping[str, str]] | None = None,
        examples: Sequence[Mapping[str, Any]] | None = None,
        controls: Mapping[str, Any] | None = None,
        calibration: Mapping[str, Any] | None = None,
    ) -> None:
        given = {
            "assay": 1,
            "domain": domain,
            "version": version,
            "summary": summary or None,
            "fields": fields,
            "data": data,
            "system": system,
            "prompt": prompt,
            "params": params,
            "answer": answer,
            "episode": episode,
            "sandbox": sandbox,
            "verify": verify,
            "reward": reward,
            "group": group,
            "allow": allow,
            "examples": examples,
            "controls": controls,
            "calibration": calibration,
        }
        self.document: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        frame = sys._getframe(1)
        self.path = Path(frame.f_code.co_filename)
        self.line = frame.f_lineno

    @property
    def id(self) -> str:
        """The id inside its package."""
        return str(self.document["domain"])

    def __repr__(self) -> str:
        return f"<domain {self.id} v{self.document['version']}>"


def domain_files(package: str) -> list[DomainFile]:
    """Return the domain files under `conf/domain/` of a package, by name, without importing it.

    Args:
        package: Import name, such as `assay_domain_math`.

    Raises:
        PluginError: there is no such package.
    """
    return [DomainFile(path) for path in sorted((package_folder(package) / "conf" / "domain").rglob("*.yaml"))]


def package_folder(package: str) -> Path:
    """Return the folder of an installed package without importing it.

    Raises:
        PluginError: there is no such package.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise PluginError("a package with files must be installed", got=package)
    return Path(next(iter(spec.submodule_search_locations)))
