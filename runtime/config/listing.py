"""A job's configuration as YAML text, each value with the place it comes from."""

from typing import Any

import yaml

from assay.dsl.source.mark import Mapping, Node, Scalar
from assay.runtime.config.job import Job


class _Written(str):
    """A scalar of a declared file: what was a number there is one here, with the digits it was written with."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Writes lists and rows on one line, so that their place can stand beside them."""


def _represent(dumper: yaml.SafeDumper, text: _Written) -> yaml.ScalarNode:
    return dumper.represent_scalar(dumper.resolve(yaml.ScalarNode, str(text), (True, False)), str(text))


_Dumper.add_representer(_Written, _represent)


def job_text(job: Job) -> str:
    """Return the configuration of a job as YAML; comments say where each value comes from."""
    document: dict[str, Any] = {k: v for k, v in job.composition.job.items() if k not in ("curriculum", "domain")}
    if job.mix is not None:
        document["curriculum"] = _written(job.mix.tree)
        document["domain"] = {name: _written(tree) for name, tree in job.mix.trees.items()}
    return "\n".join(_lines(document, job.origins(), "", 0)) + "\n"


def plain_text(value: Any) -> str:
    """Return a plain value as YAML."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6)


def _lines(document: dict[str, Any], origins: dict[str, str], prefix: str, indent: int) -> list[str]:
    lines: list[str] = []
    for key, value in document.items():
        at, head = f"{prefix}{key}", f"{' ' * indent}{_one_line(key)}:"
        if isinstance(value, dict) and value:
            lines += [head, *_lines(value, origins, f"{at}.", indent + 2)]
            continue
        text = _one_line(value)
        origin = origins.get(at) or next((place for one, place in origins.items() if one.startswith(f"{at}.")), "")
        lines.append(f"{head} {text}{f'  # {origin}' if origin else ''}")
    return lines


def _one_line(value: Any) -> str:
    is_long = isinstance(value, str) and ("\n" in value or not value.isprintable())
    text = yaml.dump(
        str(value) if is_long else value,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=10**9,
        default_flow_style=True,
        default_style='"' if is_long else None,
    )
    return text.removesuffix("...\n").rstrip("\n")


def _written(node: Node) -> Any:
    if isinstance(node, Scalar):
        return None if node.is_null else str(node.text) if node.is_quoted else _Written(node.text)
    if isinstance(node, Mapping):
        return {entry.key.text: _written(entry.value) for entry in node}
    return [_written(item) for item in node.items]
