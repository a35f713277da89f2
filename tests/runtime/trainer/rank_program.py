"""One rank of a group: makes some steps and prints what it saw; run by `test_rank.py`, not a test."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.core.array import Array
from assay.core.error import TrainerError
from assay.core.trainer import TrainSequence, UpdateSettings
from assay.runtime.trainer.batch import share
from assay.runtime.trainer.megatron import MegatronTrainer


def main(policy: str, batches: str, folder: str, tensor_parallel: int, pipeline_parallel: int) -> None:
    """Train on the batches, save, load, train on.

    Args:
        policy: Folder of the first weights.
        batches: File with the batches.
        folder: Where rank 0 leaves a checkpoint and its findings.
        tensor_parallel: Ranks that divide each layer.
        pipeline_parallel: Ranks that divide the layers.
    """
    steps = msgspec.msgpack.decode(Path(batches).read_bytes(), type=list[tuple[list[TrainSequence], UpdateSettings]])
    trainer = MegatronTrainer(
        Path(policy), tensor_parallel=tensor_parallel, pipeline_parallel=pipeline_parallel, epsilon=1e-2
    )
    results, errors = [], []

    def mine(sequences: list[TrainSequence]) -> list[TrainSequence]:
        shares = share([len(sequence.tokens) for sequence in sequences], trainer.data_size)
        return [sequences[index] for index in shares[trainer.data_rank]]

    for sequences, settings in steps[:-1]:
        result = trainer.update(mine(sequences), settings)
        results.append([result.loss, result.grad_norm, result.num_tokens, result.metrics])
    # A malformed sequence on one rank is refused by all; the group stays in step.
    bad = msgspec.structs.replace(steps[0][0][0], tokens=Array.of([-1] * len(steps[0][0][0].tokens), "int32"))
    is_last = trainer.group.rank == trainer.group.world_size - 1
    for spoiled in ([bad] if is_last else mine(steps[0][0]), []):
        try:
            trainer.update(spoiled, steps[0][1])
        except TrainerError as error:
            errors.append(str(error))
    digest = trainer.save(Path(folder) / "checkpoint", {"from": "test"})
    trainer.load(Path(folder) / "checkpoint", digest)
    sequences, settings = steps[-1]
    result = trainer.update(mine(sequences), settings)
    results.append([result.loss, result.grad_norm, result.num_tokens, result.metrics])
    logprobs = [array.to_list() for array in trainer.logprobs([sequence.tokens for sequence in sequences])]
    state = {name: np.frombuffer(array.data, "<f4").reshape(array.shape) for name, array in trainer.state()}
    if trainer.group.rank == 0:
        arrays: Any = state
        np.savez(Path(folder) / "state.npz", **arrays)
        (Path(folder) / "found.json").write_text(json.dumps([results, logprobs]))
    (Path(folder) / f"errors-{trainer.group.rank}.json").write_text(json.dumps(errors))
    if os.environ.get("HANG"):
        print("ready", flush=True)
        while True:
            trainer.update(mine(sequences), settings)
    trainer.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
