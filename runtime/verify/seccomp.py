"""Seccomp: system calls that a verifier never needs answer EPERM, for itself and all its descendants.

What Landlock and namespaces leave open: unix sockets by path (the run's own, a container daemon's), io_uring, which
does socket work without the socket call, mode changes, and looking into other processes. `socketpair` stays, asyncio
lives on it. Mode and time stamps answer success without effect: copying a file must not fail over them.

Source: Linux, Documentation/userspace-api/seccomp_filter.rst; numbers from the kernel's syscall tables.
"""

import ctypes
import errno
import os
import platform
import struct

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_OFFSET_NUMBER, _OFFSET_ARCH = 0, 4
_X32 = 0x40000000

# io_uring, mounts by descriptor, pidfd_getfd, mount_setattr: the same numbers on every architecture.
_NEW_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442)
# (audit number of the architecture, calls refused, calls without effect, calls of the network)
_TABLES: dict[str, tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "x86_64": (
        0xC000003E,
        # ptrace, process_vm_*, mount family, chroot, modules, keys, kexec, perf, bpf, userfaultfd, handles, namespaces
        # and chown, fchown, lchown, fchownat, setxattr and removexattr families
        (
            *(101, 155, 161, 165, 166, 175, 176, 246, 248, 249, 250, 272, 298, 304, 308, 310, 311, 313, 321, 323),
            *(92, 93, 94, 260, 188, 189, 190, 197, 198, 199),
        ),
        # chmod, fchmod, fchmodat, fchmodat2, utime, utimes, futimesat, utimensat
        (90, 91, 268, 452, 132, 235, 261, 280),
        (41,),
    ),
    "aarch64": (
        0xC00000B7,
        (
            *(39, 40, 41, 51, 97, 104, 105, 106, 117, 217, 218, 219, 241, 265, 268, 270, 271, 273, 280, 282),
            *(54, 55, 5, 6, 7, 14, 15, 16),
        ),
        (52, 53, 452, 88),
        (198,),
    ),
}


def restrict(*, net: bool = False) -> tuple[str, ...]:
    """Install the filter; this process must have given up new privileges.

    Args:
        net: Keep `socket`.

    Returns:
        What is in force: `calls`, `sockets`; empty where this architecture or kernel has no filter.
    """
    table = _TABLES.get(platform.machine())
    if table is None:
        return ()
    arch, refused, ignored, network = table
    refused = refused + _NEW_EVERYWHERE + (() if net else network)
    program = [_step(_LOAD, 0, 0, _OFFSET_ARCH), _step(_JUMP_EQUAL, 1, 0, arch), _step(_RETURN, 0, 0, _fail())]
    program += [_step(_LOAD, 0, 0, _OFFSET_NUMBER), _step(_JUMP_AT_LEAST, 0, 1, _X32), _step(_RETURN, 0, 0, _fail())]
    for number in refused:
        program += [_step(_JUMP_EQUAL, 0, 1, number), _step(_RETURN, 0, 0, _fail())]
    for number in ignored:
        program += [_step(_JUMP_EQUAL, 0, 1, number), _step(_RETURN, 0, 0, _ERRNO)]
    program.append(_step(_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(program))
    header = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, header, 0, 0) != 0:
        if ctypes.get_errno() in (errno.EINVAL, errno.ENOSYS):
            return ()
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")
    return ("calls",) if net else ("calls", "sockets")


def _step(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _fail() -> int:
    return _ERRNO | errno.EPERM
