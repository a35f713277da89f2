"""A leaf called in an interpreter of its own, which may be killed: `python -m assay.runtime.testing.child`.

One msgpack `Errand` comes on standard input, one reply per call leaves on the descriptor of standard output; what the
leaf prints goes to standard error.
"""

import asyncio
import inspect
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from assay.core.blob import BlobRef
from assay.core.episode import Episode
from assay.core.registry import resolve
from assay.core.sandbox import SandboxSpec
from assay.core.trajectory import Trace
from assay.runtime.stage.source import describe

_LONGEST_S = 60.0


class Errand(msgspec.Struct, frozen=True):
    """What the child does.

    Attributes:
        what: `rows` opens a source and reads; `tool` calls a tool.
        ref: `dist:version:module:attribute` of the leaf.
        arguments: Of the source, or of every call of the tool, by name.
        paths: Names of arguments that are paths.
        indices: Rows to read.
        calls: Further arguments of each call.
        task: Fields of the task, for a tool that asks for them.
    """

    what: Literal["rows", "tool"]
    ref: str
    arguments: dict[str, Any] = {}
    paths: tuple[str, ...] = ()
    indices: tuple[int, ...] = ()
    calls: tuple[dict[str, Any], ...] = ()
    task: dict[str, Any] = {}


class Done(msgspec.Struct, frozen=True):
    """What came of one row or call.

    Attributes:
        value: What it gave.
        error: One line where it raised; empty where it did not.
        is_plain: The value is plain data, which can be stored and sent.
    """

    value: Any = None
    error: str = ""
    is_plain: bool = True


class Ran(msgspec.Struct, frozen=True):
    """What came of an errand.

    Attributes:
        done: As many as were finished.
        error: How the child ended where it did not finish; empty where it did.
    """

    done: tuple[Done, ...]
    error: str = ""


def send(errand: Errand, *, longest_s: float = _LONGEST_S, **variables: str) -> Ran:
    """Do an errand in a child that sees what this process sees; variables are added to its environment."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **variables}
    argv = [sys.executable, "-m", "assay.runtime.testing.child"]
    with subprocess.Popen(
        argv,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        error = ""
        try:
            out, err = child.communicate(msgspec.msgpack.encode(errand), longest_s)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            error = f"no end after {longest_s:g} s"
    if not error and child.returncode != 0:
        lines = err.decode(errors="replace").strip().splitlines()
        error = f"exit status {child.returncode}" + (f": {lines[-1]}" if lines else "")
    done = [msgspec.msgpack.decode(line, type=Done) for line in _frames(out)]
    return Ran(tuple(done), error)


def main() -> None:
    """Do the errand on standard input."""
    errand = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Errand)
    # What a leaf prints must not be taken for a reply.
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    arguments = {name: Path(value) if name in errand.paths else value for name, value in errand.arguments.items()}
    leaf = resolve(errand.ref)
    if errand.what == "rows":
        source = leaf(**arguments)
        for index in errand.indices:
            replies.write(_frame(_done(lambda index=index: source.read(index))))
        return
    for call in errand.calls:
        replies.write(_frame(_done(lambda call=call: call_tool(leaf, {**arguments, **call}, errand.task))))


def call_tool(tool: Any, arguments: dict[str, Any], task: dict[str, Any]) -> Any:
    """Call a tool with what the runtime supplies: a task, an episode that ends here, a box of plain processes."""
    wanted = {parameter.name for parameter in tool.parameters if parameter.is_supplied}
    artifacts: dict[str, BlobRef] = {}
    episode = Episode(0, "testing/task", task, (), "", None, Trace(turns=1, tokens=1, prompt_tokens=1), artifacts)
    given = {"task": task, "episode": episode}
    arguments = {**arguments, **{name: value for name, value in given.items() if name in wanted}}
    if "box" not in wanted:
        value = tool(**arguments)
        return asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value
    return asyncio.run(_in_box(tool, arguments))


async def _in_box(tool: Any, arguments: dict[str, Any]) -> Any:
    from assay.runtime.sandbox.process import ProcessBackend

    box = await ProcessBackend().acquire(SandboxSpec("testing"), 10.0)
    try:
        value = tool(**arguments, box=box)
        return await value if inspect.isawaitable(value) else value
    finally:
        await box.close()


async def _awaited(value: Any) -> Any:
    return await value


def _done(make: Any) -> Done:
    try:
        value = make()
    except BaseException as error:  # a leaf is a package's code, and may even call sys.exit
        return Done(error=describe(error))
    try:
        msgspec.msgpack.encode(value)
    except Exception as error:
        return Done(repr(value)[:200], describe(error), is_plain=False)
    return Done(value)


def _frame(done: Done) -> bytes:
    body = msgspec.msgpack.encode(done)
    return len(body).to_bytes(4, "big") + body


def _frames(data: bytes) -> Sequence[bytes]:
    frames, start = [], 0
    while start + 4 <= len(data):
        end = start + 4 + int.from_bytes(data[start : start + 4], "big")
        if end > len(data):
            break
        frames.append(data[start + 4 : end])
        start = end
    return frames


if __name__ == "__main__":
    main()
