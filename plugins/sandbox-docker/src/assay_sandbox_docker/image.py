"""An image made of this machine's own Python, git and busybox, for machines that reach no registry.

python -m assay_sandbox_docker.image NAME
"""

import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from assay.core.error import SandboxError

_LEFT_OUT = {"site-packages", "test", "tests", "idlelib", "__pycache__", "ensurepip", "tkinter", "lib2to3"}
_PASSWD = "root:x:0:0::/root:/bin/sh\nbox:x:1000:1000::/work:/bin/sh\n"


def build(client: Any, name: str) -> str:
    """Import the image under a name; returns its id.

    Args:
        client: The SDK's client.
        name: Such as `assay-python:3.11`.

    Raises:
        SandboxError: this machine has no static busybox.
    """
    with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        write_archive(Path(file.name))
        repository, _, tag = name.partition(":")
        with open(file.name, "rb") as archive:
            client.api.import_image_from_data(archive, repository=repository, tag=tag or "latest")
    found: str = client.images.get(name).id
    return found


def write_archive(path: Path) -> None:
    """Write the root file system as a tar archive."""
    busybox = shutil.which("busybox")
    if busybox is None:
        raise SandboxError("this machine must have a static busybox", todo="Run: apt-get install busybox-static")
    python = Path(sys.base_prefix, "bin", f"python{sysconfig.get_python_version()}")
    library = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix, "base": sys.base_prefix}))
    programs = [python, *library.glob("lib-dynload/*.so")]
    with tarfile.open(path, "w") as archive:
        for folder, mode in (("tmp", 0o1777), ("work", 0o1777), ("root", 0o755), ("proc", 0o755), ("dev", 0o755)):
            _folder(archive, folder, mode)
        _text(archive, "etc/passwd", _PASSWD)
        _text(archive, "etc/group", "root:x:0:\nbox:x:1000:\n")
        archive.add(busybox, "bin/busybox")
        for applet in subprocess.check_output([busybox, "--list"], text=True).split():
            if applet not in ("busybox", "git", "python3"):
                _link(archive, f"bin/{applet}", "/bin/busybox")
        archive.add(library, str(library).lstrip("/"), filter=_keep)
        archive.add(python.resolve(), str(python).lstrip("/"))
        _link(archive, "usr/bin/python3", str(python))
        if git := shutil.which("git"):
            programs.append(Path(git))
            archive.add(os.path.realpath(git), "usr/bin/git")
            # git runs its own commands from here.
            _link(archive, "usr/lib/git-core/git", "/usr/bin/git")
        for shared in sorted({found for program in programs for found in _libraries(program)}):
            archive.add(os.path.realpath(shared), shared.lstrip("/"))


def _libraries(program: Path) -> list[str]:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", listed)


def _keep(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if _LEFT_OUT & set(Path(member.name).parts) else member


def _folder(archive: tarfile.TarFile, name: str, mode: int) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.mode = tarfile.DIRTYPE, mode
    archive.addfile(member)


def _link(archive: tarfile.TarFile, name: str, target: str) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    archive.addfile(member)


def _text(archive: tarfile.TarFile, name: str, text: str) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(text)
    archive.addfile(member, io.BytesIO(text.encode()))


if __name__ == "__main__":
    import docker

    print(build(docker.from_env(), sys.argv[1]))
