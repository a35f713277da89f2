"""The edited domains of a regrade: files, or the run's own declarations with overrides applied."""

from collections.abc import Sequence
from pathlib import Path

from assay.core.error import ConfigError, SourceError
from assay.core.name import suggestion
from assay.core.registry import Registry
from assay.dsl.compile import compile_tree
from assay.dsl.edition import DOMAIN
from assay.dsl.index import DomainIndex, Found, read_domain_file
from assay.dsl.program import Program
from assay.dsl.source import override as edit
from assay.dsl.source.diagnostic import Finding, render
from assay.dsl.source.loader import load
from assay.dsl.source.mark import Mapping
from assay.runtime.regrade.stored import StoredRun

CONFIG = "config.yaml"


def edited(run: StoredRun, domains: Sequence[str], overrides: Sequence[str], registry: Registry) -> dict[str, Program]:
    """Return the edited programs, by mix entry.

    Args:
        run: Whose episodes are regraded.
        domains: `ENTRY=FILE` or `ENTRY=ID`.
        overrides: `domain.ENTRY.KEY=VALUE`, on top of these or of what the run declared.
        registry: What is installed now; its verifiers grade.

    Returns:
        Of the entries that were named, or of all entries where none was.

    Raises:
        ConfigError: an entry that the run does not have, or a run that kept no declaration.
        SourceError: a declaration or an override has findings.
    """
    given = {name: _declared(path, registry) for name, path in map(_assignment, domains)}
    edits = [_override(text, number) for number, text in enumerate(overrides, 1)]
    named = list(dict.fromkeys([*given, *(one.entry for one in edits)]))
    known = [entry.name for entry in run.plan.entries]
    for name in named:
        if name not in known:
            raise ConfigError("an entry must be one of the run's", got=name, todo=suggestion(name, known) or None)
    programs = {}
    for name in named or known:
        found = given.get(name) or _own(run, name)
        if found.tree is None:
            raise _refused(list(found.findings))
        tree, faults = edit.apply_overrides(found.tree, [one for one in edits if one.entry == name], DOMAIN)
        compiled = compile_tree(tree, registry, found.base, found.dist, (*found.findings, *faults))
        programs[name] = compiled.require()
    return programs


def _assignment(text: str) -> tuple[str, str]:
    name, mark, path = text.partition("=")
    if not (name and mark and path):
        raise ConfigError("--domain must be ENTRY=FILE or ENTRY=ID", got=text)
    return name, path


def _declared(path: str, registry: Registry) -> Found:
    if path.endswith((".yaml", ".yml")) or Path(path).is_file():
        try:
            return read_domain_file(Path(path))
        except OSError as error:
            raise ConfigError("a domain file must be readable", got=error.strerror, at=path) from None
    return DomainIndex(registry).find(path)


def _override(text: str, number: int) -> edit.Override:
    parsed = edit.parse_override(text, number)
    if isinstance(parsed, Finding):
        raise _refused([parsed])
    if parsed.target != "domain":
        raise ConfigError("an override of a regrade must edit a domain", got=text, todo="Write domain.ENTRY.KEY=VALUE")
    return parsed


def _own(run: StoredRun, entry: str) -> Found:
    """Return what the run itself declared, overrides of its own included."""
    path = run.folder.path / CONFIG
    plan = run.plan.entry(entry)
    try:
        loaded = load(path.read_bytes(), str(path))
    except OSError:
        todo = f"Say which domain with --domain {entry}=FILE"
        raise ConfigError("a run must have kept its declarations", got="none", at=path, todo=todo) from None
    domains = None if loaded.tree is None else loaded.tree.get("domain")
    tree = domains.get(entry) if isinstance(domains, Mapping) else None
    if not isinstance(tree, Mapping):
        raise ConfigError("a run must have kept the declaration of its entry", got=entry, at=path)
    base = plan.base or next((split.base for split in plan.splits.values() if split.base), ".")
    return Found(plan.program.id, plan.program.dist, tree, loaded.findings, Path(base), str(path))


def _refused(findings: list[Finding]) -> SourceError:
    shown = "\n\n".join(render(item) for item in findings)
    return SourceError(f"an edit must be one that can be read\n\n{shown}", findings=tuple(findings))
