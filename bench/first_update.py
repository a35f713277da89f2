"""Seconds from the command to the first committed step of the quickstart, and the CPU seconds up to there.

One real run, drained after its first steps. The largest part is importing torch and Megatron in the trainer, while the
other processes start beside it.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NAME = "first_update"
_LIMIT_S = 120.0


def run() -> dict[str, float]:
    """Return `first_update_s`, and the CPU seconds all processes together spent until the run was drained."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.times()
        command = subprocess.Popen(
            [sys.executable, "-m", "assay", "train", f"run.folder={folder}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            _wait_for_step(Path(folder) / "latest", command)
            command.send_signal(signal.SIGINT)
            command.wait(60)
        finally:
            if command.poll() is None:
                os.killpg(command.pid, signal.SIGKILL)
                command.wait()
        after = os.times()
        summary = json.loads((Path(folder) / "latest" / "summary.json").read_text())
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return {"first_update_s": summary["first_update_s"], "cpu_s": cpu_s}


def _wait_for_step(run_folder: Path, command: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _LIMIT_S
    while time.monotonic() < deadline:
        if command.poll() is not None:
            raise RuntimeError(f"the run must not end by itself, got {command.returncode}")
        try:
            if json.loads((run_folder / "status.json").read_bytes())["step"] >= 3:
                return
        except (OSError, ValueError):
            pass
        time.sleep(0.05)
    raise RuntimeError(f"a run must make a step within {_LIMIT_S:g} s")
