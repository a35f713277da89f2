"""A package as a template: which files, with which names put in."""

import contextlib
import importlib.util
import os
import re
import shutil
import tempfile
from pathlib import Path

import msgspec

from assay import __version__
from assay.core.error import ConfigError

_FOLDER = Path(__file__).parent / "domain"
_NAME = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
_MAX_NAME = 60


class Package(msgspec.Struct, frozen=True):
    """A domain package to be written.

    Attributes:
        name: Id of the domain, such as `word_count`.
        folder: To be made.
    """

    name: str
    folder: Path

    @property
    def dist(self) -> str:
        """Distribution name."""
        return f"assay-domain-{self.name.replace('_', '-')}"

    @property
    def module(self) -> str:
        """Import name."""
        return f"assay_domain_{self.name}"

    def files(self) -> dict[str, str]:
        """Return the text of every file by its path inside the folder."""
        names = {
            "NAME": self.name,
            "SLUG": self.name.replace("_", "-"),
            "DIST": self.dist,
            "PACKAGE": self.module,
            "HOST": _host_range(__version__),
        }
        found = {}
        for path in sorted(_FOLDER.rglob("*.in")):
            inside = path.relative_to(_FOLDER).with_suffix("").as_posix()
            inside = inside.replace("dot_", ".").replace("PACKAGE", self.module).replace("NAME", self.name)
            found[inside] = re.sub(r"@([A-Z]+)@", lambda match: names[match[1]], path.read_text(encoding="utf-8"))
        return found

    def write(self) -> list[str]:
        """Write all files, or none; returns their paths inside the folder.

        Raises:
            ConfigError: the folder exists, or cannot be written.
        """
        if os.path.lexists(self.folder):
            raise ConfigError("a new package must have a folder that does not exist yet", got=self.folder)
        parent = self.folder.absolute().parent
        draft = None
        try:
            parent.mkdir(parents=True, exist_ok=True)
            draft = Path(tempfile.mkdtemp(prefix=f".{self.folder.name}-", dir=parent))
            draft.chmod(0o755)
            files = self.files()
            for inside, text in files.items():
                path = draft / inside
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                if text.startswith("#!"):
                    path.chmod(0o755)
            # An empty folder that somebody made in the meantime would be taken; a full one is not.
            draft.rename(self.folder)
        except OSError as error:
            if draft is not None:
                with contextlib.suppress(OSError):
                    shutil.rmtree(draft)
            raise ConfigError("a new package must be writable", got=error.strerror, at=self.folder) from None
        return list(files)


def read_name(text: str) -> str:
    """Return the id of a new domain.

    Raises:
        ConfigError: the text is no name, or a package of it is installed.

    Example:
        >>> read_name("word-count")
        'word_count'
    """
    if len(text) > _MAX_NAME or _NAME.fullmatch(text) is None:
        raise ConfigError(
            f"a name must be at most {_MAX_NAME} lower-case letters, digits and single `_` or `-` between them, "
            "and begin with a letter",
            got=repr(text),
            todo="Such as word_count",
        )
    name = text.replace("-", "_")
    if importlib.util.find_spec(f"assay_domain_{name}") is not None:
        raise ConfigError("a new package must have a name that none installed has", got=f"assay_domain_{name}")
    return name


def _host_range(version: str) -> str:
    """Return the range of host versions that keep their promises to a package written for this one.

    Example:
        >>> _host_range("0.1.0"), _host_range("2.3.1.dev4")
        ('>=0.1,<0.2', '>=2.3,<3')
    """
    major, minor = (int(part) for part in version.split(".")[:2])
    return f">={major}.{minor},<{f'0.{minor + 1}' if major == 0 else major + 1}"
