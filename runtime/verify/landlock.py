"""Landlock: a process gives up the right to write files and to use TCP, for itself and all its descendants.

Reading and executing are left alone; so are mode changes and unix sockets, which Landlock does not cover
(`seccomp` does). Linux 5.13 or newer; each ABI adds rights, and what the kernel lacks is reported, never assumed.

Source: Linux, Documentation/userspace-api/landlock.rst.
"""

import ctypes
import os
import struct
from collections.abc import Sequence
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1

_WRITE_FILE, _TRUNCATE, _IOCTL_DEV = 1 << 1, 1 << 14, 1 << 15
# remove_dir, remove_file, make_char, make_dir, make_reg, make_sock, make_fifo, make_block, make_sym
_CHANGE_FOLDER = sum(1 << bit for bit in range(4, 13))
_REFER = 1 << 13
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1
_SCOPE_ABSTRACT_SOCKET, _SCOPE_SIGNAL = 1 << 0, 1 << 1

_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """Return the kernel's Landlock ABI; 0 where there is none."""
    return max(0, _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG)))


def restrict(folder: Path, devices: Sequence[str] = ("/dev/null",), *, net: bool = False) -> tuple[str, ...]:
    """Let this process write below one folder only; needs no privilege but no-new-privileges.

    Args:
        folder: Where files may be made, changed and removed.
        devices: Device files that may be written.
        net: Keep TCP.

    Returns:
        What is in force: `files`, and where the ABI has them `truncate`, `tcp`, `signals`; empty without Landlock.

    Raises:
        OSError: the kernel has Landlock and refuses.
    """
    level = abi()
    if not level:
        return ()
    files = _WRITE_FILE | _CHANGE_FOLDER
    files |= (_REFER if level >= 2 else 0) | (_TRUNCATE if level >= 3 else 0) | (_IOCTL_DEV if level >= 5 else 0)
    tcp = _BIND_TCP | _CONNECT_TCP if level >= 4 and not net else 0
    scope = _SCOPE_ABSTRACT_SOCKET | _SCOPE_SIGNAL if level >= 6 else 0
    fields = (files,) if level < 4 else (files, tcp) if level < 6 else (files, tcp, scope)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = _call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    try:
        _allow(ruleset, str(folder), files)
        for device in devices:
            _allow(ruleset, device, files & (_WRITE_FILE | _TRUNCATE | _IOCTL_DEV))
        _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)
    named = (("files", True), ("truncate", level >= 3), ("tcp", bool(tcp)), ("signals", bool(scope)))
    return tuple(name for name, is_in_force in named if is_in_force)


def _allow(ruleset: int, path: str, rights: int) -> None:
    target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", rights, target)
        _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(target)


def _call(number: int, *arguments: object) -> int:
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"landlock: {os.strerror(code)}")
    return result
