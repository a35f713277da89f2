"""One call of a leaf: arguments in, a checked reply out, whatever the code does."""

import asyncio
import signal
import time
import traceback
from typing import Any

from assay.core.error import PluginError, VerifierFault
from assay.core.judge import Judge
from assay.core.leaf import Leaf, Verifier
from assay.core.sandbox import Sandbox
from assay.core.signal import SignalValue, check_signals
from assay.runtime.verify.ask import OwnTime, RemoteJudge
from assay.runtime.verify.message import Job, Reply

PARSER_TIMEOUT_S = 5.0
_MAX_DETAIL = 400


def execute(leaf: Leaf, job: Job) -> Reply:
    """Call a leaf and check what it returns; an exception of any kind becomes a reply."""
    started = time.perf_counter()
    try:
        value = leaf.function(**bind(leaf, job))
        if isinstance(leaf, Verifier) and leaf.is_async:
            value = asyncio.run(value)
        signals = checked(leaf, value)
    except BaseException as error:  # hostile answers raise SystemExit and worse
        return failed(job, error, started)
    return Reply(job.job_id, "ok", signals, wall_s=_since(started))


async def execute_async(leaf: Leaf, job: Job, box: Sandbox, judge: RemoteJudge) -> Reply:
    """Like `execute`, in a running loop, with a box and a judge, ended at its own deadline."""
    started = time.perf_counter()
    timeout_s = job.timeout_s or timeout_of(leaf)
    scope = asyncio.timeout(timeout_s)
    try:
        async with scope:
            judge.time = OwnTime(scope)
            value = leaf.function(**bind(leaf, job, box, judge))
            signals = checked(leaf, await value if isinstance(leaf, Verifier) and leaf.is_async else value)
    except BaseException as error:
        if scope.expired():
            return Reply(job.job_id, "timeout", detail=f"no result after {timeout_s:g} s", wall_s=_since(started))
        return failed(job, error, started)
    return Reply(job.job_id, "ok", signals, wall_s=_since(started))


def bind(leaf: Leaf, job: Job, box: Sandbox | None = None, judge: Judge | None = None) -> dict[str, Any]:
    """Return all arguments of a call by name.

    Raises:
        PluginError: the leaf asks for something this job does not hold.
    """
    arguments = dict(job.arguments)
    for parameter in leaf.parameters:
        if not parameter.is_supplied:
            continue
        if parameter.name in ("answer", "text"):
            arguments[parameter.name] = job.answer
        elif job.episode is not None and parameter.name == "episode":
            arguments["episode"] = job.episode
        elif job.episode is not None and parameter.name in ("task", "artifacts"):
            arguments[parameter.name] = getattr(job.episode, parameter.name)
        elif box is not None and job.sandbox is not None and parameter.name == "box":
            arguments["box"] = box
        elif judge is not None and parameter.name == "judge":
            arguments["judge"] = judge
        else:
            raise PluginError(f"a job must hold what its {leaf.leaf} asks for", got=f"no {parameter.name}")
    return arguments


def checked(leaf: Leaf, value: object) -> dict[str, SignalValue]:
    """Return the signals of a value as plain data.

    Raises:
        VerifierFault: the value breaks the leaf's declaration.
    """
    if isinstance(leaf, Verifier):
        signals = check_signals(leaf.signals, value, f"{leaf.name} v{leaf.version}")
        return {name: _plain(item) for name, item in signals.items()}
    if value is not None and not isinstance(value, str):
        raise VerifierFault("a parser must return a text or None", got=type(value).__name__, at=leaf.name)
    return {"answer": _plain(value)}


def timeout_of(leaf: Leaf) -> float:
    """Return the declared longest duration of a call, in seconds."""
    return leaf.timeout_s if isinstance(leaf, Verifier) else PARSER_TIMEOUT_S


def failed(job: Job, error: BaseException, started: float) -> Reply:
    """Return the reply for a call that raised."""
    is_fault = isinstance(error, VerifierFault)
    return Reply(job.job_id, "fault" if is_fault else "raised", detail=describe(error), wall_s=_since(started))


def describe(error: BaseException) -> str:
    """Return one line: class, message and the innermost place. The message may be hostile."""
    try:
        text = " ".join(str(error).split())
        frames = traceback.extract_tb(error.__traceback__)
        if frames and not isinstance(error, VerifierFault):
            text += f" at {frames[-1].filename}:{frames[-1].lineno}"
    except BaseException:  # __str__ of an exception is code of whoever raised it
        text = "(its message cannot be read)"
    name = "" if isinstance(error, (VerifierFault, PluginError)) else f"{type(error).__name__}: "
    return f"{name}{text}"[:_MAX_DETAIL].encode(errors="backslashreplace").decode()


def describe_exit(status: int) -> str:
    """Return one line for the exit status of a process: negative or above 128 for a signal."""
    number = -status if status < 0 else status - 128 if status > 128 else 0
    try:
        return f"its process was ended by {signal.Signals(number).name}"
    except ValueError:
        return f"its process exited with {status}"


def _plain(value: SignalValue) -> SignalValue:
    # numpy.float64 is a float; msgspec packs exact types only.
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, str) and not _is_whole(value):
        raise VerifierFault("a text must be made of whole characters", got=ascii(value)[:_MAX_DETAIL])
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _since(started: float) -> float:
    return time.perf_counter() - started
