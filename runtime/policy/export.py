"""A state and its policy become a Hugging Face folder that plain transformers loads.

Written beside its destination and renamed at the end: a folder that exists is whole.
"""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.array import Array
from assay.core.error import ConfigError
from assay.runtime.policy.architecture import Architecture

if TYPE_CHECKING:
    from torch import Tensor

_COPIED = (
    "config.json",
    "generation_config.json",
    "assay.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
)


def export_policy(folder: Path, state: "Iterable[tuple[str, Array | Tensor]]", policy: Path) -> Path:
    """Write a state with the config and tokenizer of the policy it came from.

    Args:
        folder: To make; what is there is replaced.
        state: Hugging Face names and float32 values, as `Trainer.state` yields them.
        policy: Folder of the policy that was trained.

    Returns:
        `folder`.

    Raises:
        ConfigError: a tensor is missing, unknown or has another shape; nothing is written.
    """
    import torch
    from safetensors.torch import save_file

    wanted = Architecture.read(policy).tensors()
    tensors: dict[str, Tensor] = {}
    for name, value in state:
        if name == "lm_head.weight" and name not in wanted:
            continue
        shape = tuple(value.shape)
        if wanted.get(name) != shape:
            raise ConfigError("a state must fit its policy", got=f"{name} of shape {shape}", at=policy)
        tensors[name] = (
            array_to_tensor(value) if isinstance(value, Array) else value.detach().float().cpu().contiguous()
        )
    if missing := sorted(wanted.keys() - tensors.keys()):
        raise ConfigError("a state must hold every tensor of its policy", got=f"no {', '.join(missing)}", at=policy)
    folder = Path(folder)
    draft = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    for name in _COPIED:
        if (policy / name).exists():
            shutil.copyfile(policy / name, draft / name)
    save_file({name: torch.clone(tensors[name]) for name in wanted}, draft / "model.safetensors", {"format": "pt"})
    if folder.exists():
        shutil.rmtree(folder)
    draft.rename(folder)
    return folder


def array_to_tensor(array: Array) -> "Tensor":
    """Return a tensor with a copy of the bytes."""
    import torch

    dtypes = {"int32": torch.int32, "int64": torch.int64, "float32": torch.float32, "float64": torch.float64}
    return torch.frombuffer(bytearray(array.data), dtype=dtypes.get(array.dtype, torch.uint8)).view(array.shape)
