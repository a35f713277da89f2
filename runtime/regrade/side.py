"""The two sides of a comparison: declared files, revisions of them, installed domains, curricula, runs."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

from assay.core.error import ConfigError, PluginError, SourceError
from assay.core.registry import Registry
from assay.dsl.compile import compile_tree, domain_id
from assay.dsl.index import DomainIndex
from assay.dsl.program import Program
from assay.dsl.source.loader import load
from assay.dsl.source.mark import Mapping as Tree
from assay.runtime.config.job import compile_mix
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import FILE, read_plan


class Side(msgspec.Struct, frozen=True):
    """One side.

    Attributes:
        word: As it was asked for.
        programs: By name of the mix entry, or by id where there is no mix.
        is_mix: Whether names are those of mix entries.
        run: Where stored episodes are; None where there are none.
    """

    word: str
    programs: dict[str, Program]
    is_mix: bool = False
    run: RunFolder | None = None


class Pair(msgspec.Struct, frozen=True):
    """One domain on both sides, with the name it has on each."""

    before_name: str
    after_name: str
    before: Program
    after: Program
    is_mix: bool = False

    @property
    def name(self) -> str:
        """Of a mix entry where the first side has one, or else what the second side calls it."""
        return self.before_name if self.is_mix else self.after_name


def read_side(word: str, runs: Path, registry: Registry) -> Side:
    """Return what a word names.

    A file comes first, then a run (`RUN` or `RUN:ENTRY`), then `REV:path` of git, then an installed domain.

    Args:
        word: Of the command line.
        runs: Where runs are.
        registry: What is installed.

    Raises:
        ConfigError: it names nothing.
        SourceError: a declaration has findings.
    """
    if Path(word).is_file():
        return _compiled(word, Path(word).read_bytes(), Path(word).parent, registry)
    if (run := run_of(word, runs)) is not None:
        return run
    name, mark, path = word.partition(":")
    if mark and path:
        return _compiled(word, _revision(word, name, path), Path(path).parent, registry)
    try:
        program = DomainIndex(registry).find(word).compile(registry).require()
    except PluginError as error:
        if word.endswith((".yaml", ".yml")):
            raise ConfigError("a domain file must be readable", got="no such file", at=word) from None
        todo = "Name a domain file, REV:path, a run, RUN:ENTRY or an installed domain"
        raise ConfigError("a side must name something", got=f"{word} ({error.must})", todo=todo) from None
    return Side(word, {program.id: program})


def run_of(word: str, runs: Path) -> Side | None:
    """Return the stored programs of `RUN` or `RUN:ENTRY`; None where there is no such run.

    Raises:
        ConfigError: the run has no such entry.
    """
    name, _, entry = word.rpartition(":") if ":" in word else (word, "", "")
    for path in (Path(name), runs / name):
        if (path / FILE).is_file():
            folder = RunFolder(path.resolve())
            programs = {one.name: one.program for one in read_plan(folder.path).entries}
            if entry and entry not in programs:
                known = ", ".join(programs)
                raise ConfigError("an entry must be one of the run's", got=entry, at=name, todo=f"There are {known}")
            return Side(word, {entry: programs[entry]} if entry else programs, True, folder)
    return None


def pairs(a: Side, b: Side) -> tuple[list[Pair], list[str], list[str]]:
    """Return the domains that both sides have, and the names that only the one or the other has.

    Entries of two mixes meet by name, all else by id; two single domains meet whatever they are called.
    """
    if len(a.programs) == len(b.programs) == 1:
        (name, before), (other, after) = *a.programs.items(), *b.programs.items()
        return [Pair(name, other, before, after, a.is_mix)], [], []
    by_name = a.is_mix and b.is_mix
    found = [
        Pair(name, other, before, after, a.is_mix)
        for name, before in a.programs.items()
        for other, after in b.programs.items()
        if (name == other if by_name else before.id == after.id)
    ]
    left, right = {pair.before_name for pair in found}, {pair.after_name for pair in found}
    return (
        found,
        [name for name in a.programs if name not in left],
        [name for name in b.programs if name not in right],
    )


def _compiled(word: str, data: bytes, base: Path, registry: Registry) -> Side:
    loaded = load(data, word)
    tree = loaded.tree
    if tree is not None and tree.get("curriculum") is not None and tree.get("domain") is None:
        mix = compile_mix(tree, (), registry, base)
        programs = _programs({name: one.program for name, one in mix.compiled.domains.items()}, word)
        return Side(word, programs, True)
    if tree is None:
        raise SourceError("a domain must compile", findings=loaded.findings, at=word)
    program = compile_tree(tree, registry, base, _dist(tree, registry), loaded.findings).require()
    return Side(word, {program.id: program})


def _dist(tree: Tree, registry: Registry) -> str:
    """Return whose domain a file is: that of the package that declares its id, for a file in a checkout."""
    found = [one.dist for one in DomainIndex(registry).all() if one.id == domain_id(tree)]
    return found[0] if len(found) == 1 else "local"


def _programs(programs: Mapping[str, Program | None], word: str) -> dict[str, Program]:
    if faulty := [name for name, program in programs.items() if program is None]:
        raise SourceError("a curriculum's domains must compile", got=", ".join(faulty), at=word)
    return {name: program for name, program in programs.items() if program is not None}


def _revision(word: str, revision: str, path: str) -> bytes:
    """Return a file as it was; the path counts from this folder or from the root of the repository."""
    for spelled in (f"{revision}:./{path}", f"{revision}:{path}"):
        try:
            done = subprocess.run(["git", "show", spelled], capture_output=True, check=False)
        except OSError as error:
            raise ConfigError("git must be there to read a revision", got=error.strerror, at=word) from None
        if done.returncode == 0:
            return done.stdout
    told = done.stderr.decode(errors="replace").strip().partition("\n")[0]
    raise ConfigError("a side must name a file, a run or a revision of git", got=f"{word} ({told})")
