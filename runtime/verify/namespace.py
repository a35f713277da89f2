"""Namespaces: a process tree of its own that ends with its first process, no network, a scratch folder of fixed size.

Works for root and, where the system lets users make user namespaces, for everybody; elsewhere nothing is entered and
that is reported.
"""

import ctypes
import os
from pathlib import Path

_NEWNS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE = 0x2, 0x4, 0x4000, 0x40000
_MNT_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def enter(*, net: bool = False) -> tuple[str, ...]:
    """Enter new namespaces; the process tree's takes effect for the next child. Single-threaded processes only.

    Args:
        net: Keep the network.

    Returns:
        What was entered: `processes`, `mounts`, `user`, `network`; empty where the system refuses.
    """
    flags = _NEWPID | _NEWNS | _NEWIPC | (0 if net else _NEWNET)
    entered = ("processes", "mounts") + (() if net else ("network",))
    user, group = os.getuid(), os.getgid()
    if _try_in_child(flags | _NEWUSER, user, group):
        _unshare(flags | _NEWUSER, user, group)
        return (*entered, "user")
    if _try_in_child(flags, user, group):
        _unshare(flags, user, group)
        return entered
    return ()


def mount_scratch(folder: Path, size_bytes: int) -> bool:
    """Mount an empty file system of fixed size over a folder, in this process's mount namespace; False if refused."""
    # Nothing that is mounted here may show up outside.
    _libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None)
    options = f"size={size_bytes},nr_inodes=4096,mode=0700".encode()
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV)
    return bool(_libc.mount(b"scratch", bytes(folder), b"tmpfs", flags, options) == 0)


def unmount(folder: Path) -> None:
    """Take away what `mount_scratch` mounted; nothing there is well."""
    _libc.umount2(bytes(folder), _MNT_DETACH)


def drop_privileges() -> None:
    """Give up all capabilities and the way to new ones."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if _libc.capset(header, (ctypes.c_uint32 * 6)()) != 0 or _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def die_with_parent(signal: int) -> None:
    """Get a signal when the parent ends. Must come after every change of credentials: those clear it."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _try_in_child(flags: int, user: int, group: int) -> bool:
    """Whether it works, tried where a half-made change harms nobody."""
    pid = os.fork()
    if pid == 0:
        try:
            _unshare(flags, user, group)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def _unshare(flags: int, user: int, group: int) -> None:
    if _libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if flags & _NEWUSER:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            Path("/proc/self", name).write_text(text)
