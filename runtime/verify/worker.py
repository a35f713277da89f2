"""The worker: locks itself down, loads its plugins, then runs verifications until the channel ends.

Invariants: no plugin code runs before the lockdown is complete; nothing a call leaves behind (processes, files in the
scratch folder) outlives its reply; standard output and input never touch the channel.
"""

import _thread
import asyncio
import gc
import math
import os
import resource
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Literal

import msgspec

from assay.core.error import AssayError, PluginError, WireError
from assay.core.leaf import Leaf, Parser, Verifier
from assay.core.registry import resolve
from assay.runtime.verify import call, landlock, namespace, seccomp, warm
from assay.runtime.verify.ask import JudgeLine, RemoteJudge
from assay.runtime.verify.box import BoxLine, RemoteBox
from assay.runtime.verify.descent import kill
from assay.runtime.verify.message import (
    BoxReply,
    Declared,
    FromWorker,
    Hello,
    Inbox,
    Job,
    JudgeAnswer,
    Reply,
    Setup,
    pack,
    receive,
)
from assay.runtime.verify.room import Room


def main(channel: socket.socket, setup: Setup, entered: tuple[str, ...], alive_fd: int) -> None:
    """Serve one host. Returns when the host closes the channel."""
    locked = lock(setup, entered, alive_fd)
    try:
        leaves = load(setup)
    except AssayError as error:
        channel.sendall(pack(Hello({}, locked, 0, str(error))))
        return
    hello = Hello({ref: declare(leaf) for ref, leaf in leaves.items()}, locked, peak_rss())
    room = Room(Path(setup.scratch), is_first="processes" in entered)
    channel.sendall(pack(hello))
    if setup.mode == "async":
        asyncio.run(serve_async(channel, leaves, room))
        return
    if setup.mode == "fork":
        # What is shared stays shared: a collection would touch, and so copy, every page.
        gc.collect()
        gc.freeze()
    run = run_forked if setup.mode == "fork" else run_here
    while (job := receive(channel, Job)) is not None:
        reply = run(leaves[job.ref], job, channel)
        if not room.clear():
            reply = msgspec.structs.replace(reply, is_dirty=True)
        channel.sendall(pack(reply))


def lock(setup: Setup, entered: tuple[str, ...], alive_fd: int) -> tuple[str, ...]:
    """Take away everything a verifier does not need; returns what is in force.

    Raises:
        OSError: the kernel offers a protection and refuses it.
    """
    scratch, limits = Path(setup.scratch), setup.limits
    locked = [f"namespace.{name}" for name in entered]
    if "mounts" in entered and namespace.mount_scratch(scratch, limits.scratch_bytes):
        locked.append("scratch.size")
    os.chdir(scratch)
    os.umask(0o077)
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.num_files),
    ):
        resource.setrlimit(kind, (value, value))
    locked += ["limit.core", "limit.file", "limit.files"]
    if "user" in entered and os.getuid() != 0:
        resource.setrlimit(resource.RLIMIT_NPROC, (limits.num_processes, limits.num_processes))
        locked.append("limit.processes")
    namespace.adopt_orphans()
    namespace.drop_privileges()
    locked.append("no_new_privileges")
    locked += [f"landlock.{name}" for name in landlock.restrict(scratch, net=setup.net)]
    locked += [f"seccomp.{name}" for name in seccomp.restrict(net=setup.net)]
    namespace.die_with_parent(signal.SIGKILL)
    # The guard may have ended before the line above; then its end of the pipe is closed.
    if select.select([alive_fd], [], [], 0)[0]:
        os._exit(1)
    os.close(alive_fd)
    return tuple(locked)


def load(setup: Setup) -> dict[str, Leaf]:
    """Load all leaves, then limit memory to what they took and the allowance.

    Raises:
        PluginError: one does not load.
    """
    sys.path[:0] = setup.paths
    leaves: dict[str, Leaf] = {}
    for ref in setup.refs:
        try:
            leaf = resolve(ref)
        except AssayError:
            raise
        except BaseException as error:  # a plugin may even call sys.exit
            raise PluginError("a plugin object must load in a worker", got=call.describe(error), at=ref) from error
        if not isinstance(leaf, (Verifier, Parser)):
            raise PluginError("a worker must be given verifiers and parsers", got=repr(leaf), at=ref)
        warm.import_all(leaf)
        leaves[ref] = leaf
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = used + setup.limits.memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return leaves


def declare(leaf: Leaf) -> Declared:
    """Return what the host needs to know about a leaf."""
    supplied = tuple(parameter.name for parameter in leaf.parameters if parameter.is_supplied)
    if isinstance(leaf, Verifier):
        return Declared(
            leaf.name,
            leaf.version,
            supplied,
            leaf.signals,
            leaf.tier,
            leaf.timeout_s,
            leaf.on_error.retries,
            leaf.on_error.then == "fail",
            leaf.on_timeout,
        )
    return Declared(leaf.name, leaf.version, supplied, {}, "auto", call.PARSER_TIMEOUT_S, 0, False, None)


def run_here(leaf: Leaf, job: Job, channel: socket.socket) -> Reply:
    """Run one call in this process; its deadline is the host's to keep."""
    num_threads = _thread._count()
    reply = call.execute(leaf, job)
    return msgspec.structs.replace(reply, rss_bytes=peak_rss(), is_dirty=_thread._count() > num_threads)


def run_forked(leaf: Leaf, job: Job, channel: socket.socket) -> Reply:
    """Run one call in a child that has the plugins loaded, and end it at its deadline."""
    timeout_s = job.timeout_s or call.timeout_of(leaf)
    started = time.perf_counter()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        channel.close()
        os.close(reader)
        namespace.die_with_parent(signal.SIGKILL)
        seconds = math.ceil(timeout_s) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        with open(writer, "wb") as file:
            file.write(pack(call.execute(leaf, job)))
        os._exit(0)
    os.close(writer)
    process = os.pidfd_open(pid)
    try:
        reply = _first_reply(reader, process, started + timeout_s)
    finally:
        os.close(reader)
        os.close(process)
    wall_s = time.perf_counter() - started
    kill(pid)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if isinstance(reply, Reply):
        return msgspec.structs.replace(reply, job_id=job.job_id, wall_s=wall_s, rss_bytes=peak_rss())
    detail = call.describe_exit(status) if reply == "died" else f"no result after {timeout_s:g} s"
    return Reply(job.job_id, reply, detail=detail, wall_s=wall_s, rss_bytes=peak_rss())


def _first_reply(reader: int, process: int, deadline: float) -> Reply | Literal["died", "timeout"]:
    """Wait for one whole frame from a child, its death or its deadline, whichever comes first."""
    inbox = Inbox(Reply)
    poller = select.poll()
    poller.register(reader, select.POLLIN)
    poller.register(process, select.POLLIN)
    while True:
        ready = dict(poller.poll(max(0.0, deadline - time.perf_counter()) * 1000))
        if reader in ready:
            data = os.read(reader, 1 << 16)
            try:
                for reply in inbox.feed(data):
                    return reply
            except WireError:
                return "died"
            if not data:
                return "died"
        elif process in ready:
            return "died"
        else:
            return "timeout"


async def serve_async(channel: socket.socket, leaves: dict[str, Leaf], room: Room) -> None:
    """Run calls as they come, each a task of one loop; the host bounds how many."""
    loop = asyncio.get_running_loop()
    inbox, running, sending = Inbox(Job | BoxReply | JudgeAnswer), set[asyncio.Task[None]](), asyncio.Lock()

    async def send(message: FromWorker) -> None:
        async with sending:
            await loop.sock_sendall(channel, pack(message))

    async def run(job: Job) -> None:
        box, judge = RemoteBox(line, job.job_id), RemoteJudge(judges, job.job_id)
        reply = await call.execute_async(leaves[job.ref], job, box, judge)
        running.discard(asyncio.current_task())
        if not running and not room.clear():
            reply = msgspec.structs.replace(reply, is_dirty=True)
        await send(msgspec.structs.replace(reply, rss_bytes=peak_rss()))

    line, judges = BoxLine(send), JudgeLine(send)
    channel.setblocking(False)
    while data := await loop.sock_recv(channel, 1 << 16):
        for message in inbox.feed(data):
            if isinstance(message, BoxReply):
                line.take(message)
            elif isinstance(message, JudgeAnswer):
                judges.take(message)
            else:
                running.add(loop.create_task(run(message)))


def peak_rss() -> int:
    """Return the peak resident memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
