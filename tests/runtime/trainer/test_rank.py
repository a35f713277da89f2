import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from assay.core.error import TrainerError
from assay.core.trainer import TrainSequence, UpdateSettings
from assay.runtime.trainer.rank import environment, free_port, join
from assay.runtime.trainer.watch import LOST_RANK

PROGRAM = Path(__file__).parent / "rank_program.py"
Start = Callable[..., list[subprocess.Popen[str]]]


@pytest.fixture
def start(make_policy: Callable[..., Path], make_batch: Callable[..., list[TrainSequence]], tmp_path: Path) -> Any:
    """Start the ranks of one group; whatever still lives at the end is killed."""
    processes: list[subprocess.Popen[str]] = []

    def run(name: str, world_size: int, tensor: int = 1, pipeline: int = 1, family: str = "qwen3", **env: str) -> Any:
        folder = tmp_path / name
        folder.mkdir()
        sft = UpdateSettings("sft", lr=1e-2, weight_decay=0.1, micro_tokens=40)
        policy = msgspec.structs.replace(sft, loss="policy", loss_options={"per_sequence": 1.0})
        # Fewer sequences than ranks: some rank has nothing but fillers.
        steps = [(make_batch(0), sft), (make_batch(1, is_policy=True), policy), (make_batch(2, 1), sft)]
        (folder / "batches").write_bytes(msgspec.msgpack.encode(steps))
        command = [sys.executable, "-W", "ignore", str(PROGRAM), str(make_policy(family)), str(folder / "batches")]
        command += [str(folder), str(tensor), str(pipeline)]
        port = free_port()
        started = [
            subprocess.Popen(
                command,
                env={**os.environ, **env, **(environment(rank, world_size, port) if world_size > 1 else {})},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(world_size)
        ]
        processes.extend(started)
        return started, folder

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def finished(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        _, complaints = process.communicate(timeout=120)
        assert 0 == process.returncode, complaints


@pytest.mark.slow
@pytest.mark.parametrize("family", ["llama", "qwen3"])
def test_every_layout_trains_like_one_rank(family: str, start: Any) -> None:
    alone, expected_folder = start("alone", 1, family=family)
    finished(alone)
    expected, expected_logprobs = json.loads((expected_folder / "found.json").read_text())
    expected_state = np.load(expected_folder / "state.npz")
    for name, tensor, pipeline in (("data", 1, 1), ("tensor", 2, 1), ("pipeline", 1, 2)):
        ranks, folder = start(name, 2, tensor, pipeline, family)
        finished(ranks)
        found, logprobs = json.loads((folder / "found.json").read_text())
        for (loss, norm, count, metrics), (*others, other_metrics) in zip(expected, found, strict=True):
            assert [pytest.approx(loss, rel=1e-5), pytest.approx(norm, rel=1e-4), count] == others, name
            assert pytest.approx(metrics, rel=1e-4, abs=1e-6) == other_metrics, name
        for row, other_row in zip(expected_logprobs, logprobs, strict=True):
            assert pytest.approx(row, abs=1e-5) == other_row, name
        state = np.load(folder / "state.npz")
        assert set(expected_state.files) == set(state.files)
        assert max(float(np.abs(expected_state[n] - state[n]).max()) for n in state.files) < 1e-6, name
        for rank in range(2):
            errors = json.loads((folder / f"errors-{rank}.json").read_text())
            assert 2 == len(errors), name
            assert "trained token" in errors[1]


@pytest.mark.slow
def test_torchrun_starts_the_same_program(start: Any, tmp_path: Path) -> None:
    alone, folder = start("alone", 1)
    finished(alone)
    program = alone[0].args
    begin = program.index(str(PROGRAM))
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        "--local-addr=127.0.0.1",
    ]
    other = tmp_path / "torchrun"
    other.mkdir()
    arguments = [str(other) if argument == str(folder) else argument for argument in program[begin:]]
    done = subprocess.run([*torchrun, *arguments], capture_output=True, text=True, timeout=240)
    assert 0 == done.returncode, done.stderr
    (expected, *_), (found, *_) = (json.loads((f / "found.json").read_text())[0] for f in (folder, other))
    assert pytest.approx(expected[:3], rel=1e-4) == found[:3]


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_lost_rank_ends_the_group_within_ten_seconds(lost: int, how: signal.Signals, start: Any) -> None:
    ranks, _ = start("lost", 2, HANG="1")
    for rank in ranks:
        assert "ready\n" == rank.stdout.readline()
    ranks[lost].send_signal(how)
    began = time.monotonic()
    _, complaints = ranks[1 - lost].communicate(timeout=30)
    assert time.monotonic() - began < 10.0
    if how == signal.SIGSTOP:
        assert LOST_RANK == ranks[1 - lost].returncode, complaints
        assert f"rank {lost} has been silent" in complaints
    else:
        # The collective may notice a closed connection in the same moment.
        assert ranks[1 - lost].returncode in (LOST_RANK, 1), complaints
        assert complaints


def test_rank_without_its_variables_is_refused() -> None:
    with pytest.raises(TrainerError, match="MASTER_PORT"):
        join({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"})


def test_environment_is_that_of_torchrun() -> None:
    assert {
        "RANK": "1",
        "LOCAL_RANK": "1",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29500",
        "GLOO_SOCKET_IFNAME": "lo",
    } == environment(1, 2, 29500)
