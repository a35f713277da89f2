"""Checkpoint folders: written whole or not at all, read only when they are what the ledger says.

    model.safetensors       weights under their Hugging Face names; with the files beside it a policy folder
    optimizer.safetensors   `exp_avg.<name>`, `exp_avg_sq.<name>`, the step count and the generators' states
    trainer.json            step and what the caller added
    config.json, tokenizer  copied from the policy, so that a checkpoint loads like any Hugging Face folder

Tensors are stored whole, in no layout of ranks: another layout may read them. There is no pickle.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import load_file, save_file
from torch import Tensor

from assay.core.digest import digest
from assay.core.error import TrainerError

_CHUNK_BYTES = 1 << 20
# What a policy folder holds beside its weights.
_COMPANIONS = ("*.json", "*.jinja", "*.txt", "*.model")


class Checkpoint(NamedTuple):
    """What a folder holds.

    Attributes:
        weights: By Hugging Face name.
        optimizer: By name; empty before the first step.
        state: JSON values.
    """

    weights: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    state: dict[str, Any]


def write_checkpoint(
    folder: Path, weights: Mapping[str, Tensor], optimizer: Mapping[str, Tensor], state: dict[str, Any], policy: Path
) -> str:
    """Write a checkpoint, replacing one of the same name; returns its digest.

    Args:
        folder: Final place; its parent is made where missing.
        weights: By Hugging Face name.
        optimizer: By name.
        state: JSON values.
        policy: Folder whose configuration and tokenizer go along.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch, old = folder.with_name(f".{folder.name}.new"), folder.with_name(f".{folder.name}.old")
    for left_behind in (scratch, old):
        shutil.rmtree(left_behind, ignore_errors=True)
    scratch.mkdir()
    for pattern in _COMPANIONS:
        for source in sorted(policy.glob(pattern)):
            if source.name not in ("trainer.json", "model.safetensors.index.json"):
                shutil.copyfile(source, scratch / source.name)
    save_file(dict(weights), scratch / "model.safetensors", metadata={"format": "pt"})
    save_file(dict(optimizer), scratch / "optimizer.safetensors")
    (scratch / "trainer.json").write_text(json.dumps(state, sort_keys=True))
    for path in (*scratch.iterdir(), scratch):
        _sync(path)
    found = folder_digest(scratch)
    if folder.exists():
        folder.rename(old)
    scratch.rename(folder)
    _sync(folder.parent)
    shutil.rmtree(old, ignore_errors=True)
    return found


def read_checkpoint(folder: Path, expected: str) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        TrainerError: the folder is missing, or not what the digest says.
    """
    if not (folder / "trainer.json").is_file():
        raise TrainerError("a checkpoint must be a folder with trainer.json", at=folder)
    found = folder_digest(folder)
    if found != expected:
        raise TrainerError(
            f"a checkpoint must have the digest {expected[:12]} that the ledger holds",
            got=found[:12],
            at=folder,
            todo="Resume from an older checkpoint",
        )
    return Checkpoint(
        load_file(folder / "model.safetensors"),
        load_file(folder / "optimizer.safetensors"),
        json.loads((folder / "trainer.json").read_bytes()),
    )


def folder_digest(folder: Path) -> str:
    """Return the digest of the names and contents of a folder's files."""
    return digest({path.name: _file_digest(path) for path in sorted(folder.iterdir())})


def read_policy_weights(folder: Path) -> dict[str, Tensor]:
    """Read the weights of a policy folder, one file or several.

    Raises:
        TrainerError: there are none, or a file does not load.
    """
    paths = sorted(folder.glob("model*.safetensors"))
    if not paths:
        raise TrainerError("a policy folder must hold model.safetensors", at=folder)
    weights: dict[str, Tensor] = {}
    for path in paths:
        try:
            weights.update(load_file(path))
        except Exception as error:
            raise TrainerError("a weights file must load", got=error, at=path) from error
    return weights


def _file_digest(path: Path) -> str:
    running = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            running.update(chunk)
    return running.hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
