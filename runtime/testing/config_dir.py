"""The contract of a folder of config groups: every file in it can be chosen."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from assay.core.declare import package_folder
from assay.core.error import PluginError
from assay.core.registry import Registry, installed
from assay.dsl.source.diagnostic import render
from assay.runtime.config.folder import folders
from assay.runtime.config.job import prepare
from assay.runtime.config.override import GROUPS, read_overrides
from assay.runtime.testing.contract import Contract


class ConfigDirContract(Contract):
    """What holds of a folder of config groups.

    Attributes:
        config_dir: `package/relative/folder`, as the hook returns it.
    """

    kind = "config_dir"
    config_dir: ClassVar[str]

    @classmethod
    def left_out(cls) -> Sequence[str]:
        """Leave out what is for objects: a folder has files."""
        return "test_a_worker_finds_it_again", "test_it_says_what_it_does"

    @property
    def name(self) -> str:
        """The folder as it is offered."""
        return self.config_dir

    def test_its_files_lie_in_groups(self) -> None:
        """The folder exists, and every YAML file in it is an option of a group that there is."""
        files = self._files()
        self.require(files, "a folder of config groups must have files", got=f"none in {self._folder()}")
        stray = [str(path.relative_to(self._folder())) for path in files if path.parent.name not in GROUPS]
        stray += [str(path.relative_to(self._folder())) for path in files if path.parent.parent != self._folder()]
        self.require(
            not stray,
            "a file must lie in the folder of its group, such as trainer/large.yaml",
            got=", ".join(dict.fromkeys(stray)),
            todo=f"Groups are {', '.join(GROUPS)}",
        )

    def test_every_file_can_be_chosen(self) -> None:
        """`assay train GROUP=NAME` composes with no finding for each file, and takes this one."""
        for path in self._files():
            texts = [f"{path.parent.name}={path.stem}"]
            overrides, findings = read_overrides(texts)
            job = prepare(overrides, self._registry())
            found = [*findings, *job.findings]
            self.require(
                not found,
                f"`{texts[0]}` must compose without a finding",
                got="\n\n" + "\n\n".join(render(one) for one in found) + "\n\n" if found else None,
            )
            chosen = job.composition.choices[path.parent.name].path
            self.require(
                chosen.resolve() == path.resolve(),
                f"`{texts[0]}` must choose this package's file",
                got=chosen,
                todo="Choose a name that no folder before it has",
            )

    def _folder(self) -> Path:
        package, _, inside = self.config_dir.partition("/")
        return package_folder(package) / inside

    def _files(self) -> list[Path]:
        try:
            folders(self._registry())
            return sorted(self._folder().rglob("*.yaml"))
        except PluginError as error:
            self.broken("a folder of config groups must exist", got=error)

    def _registry(self) -> Registry:
        return installed() if self.registry is None else self.registry

    def _described(self) -> str:
        return f"config folder `{self.name}`"

    def _is_same(self, value: object) -> bool:
        return value == self.config_dir
