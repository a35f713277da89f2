"""A checkpoint becomes a folder in another format; `huggingface` is one that plain transformers loads.

Written beside its destination and renamed at the end: a folder that exists is whole. Nothing is written over.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.array import Array
from assay.core.error import ConfigError
from assay.core.exporter import Exporter
from assay.runtime.policy.architecture import Architecture

if TYPE_CHECKING:
    from torch import Tensor

# What a policy folder holds beside its weights, and what a trainer leaves in a checkpoint.
_COMPANIONS = ("*.json", "*.jinja", "*.txt", "*.model")
_NOT_COPIED = ("trainer.json", "model.safetensors.index.json")
_DTYPES = ("float32", "bfloat16", "float16")


def export(exporter: Exporter, folder: Path, state: Iterable[tuple[str, Array]], policy: Path) -> Path:
    """Write a policy in the format of an exporter.

    Args:
        exporter: Of that format.
        folder: To make.
        state: Hugging Face names and float32 values, as `Trainer.state` yields them.
        policy: Folder of the policy that was trained.

    Returns:
        `folder`.

    Raises:
        ConfigError: the folder exists or cannot be written, or the exporter refuses; nothing is left behind.
    """
    folder = Path(folder)
    if folder.exists():
        raise ConfigError("an export must go to a folder of its own", got="one that exists", at=folder)
    draft = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        draft.mkdir(parents=True)
        exporter.write(draft, state, policy)
        draft.rename(folder)
    except OSError as error:
        raise ConfigError("an export must be written", got=error.strerror or error, at=folder) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def read_state(checkpoint: Path) -> Iterator[tuple[str, Array]]:
    """Yield the weights of a checkpoint, which are float32; needs no torch.

    Raises:
        ConfigError: there are none, or they are broken or of another type.
    """
    from safetensors import SafetensorError, safe_open

    paths = sorted(checkpoint.glob("model*.safetensors"))
    if not paths:
        raise ConfigError("a checkpoint must have model*.safetensors", got="none", at=checkpoint)
    for path in paths:
        try:
            with safe_open(path, framework="np") as file:
                for name in file.keys():  # noqa: SIM118 (no mapping)
                    value = file.get_tensor(name)
                    if value.dtype != "float32":
                        raise ConfigError("a checkpoint must be float32", got=f"{name} of {value.dtype}", at=path)
                    yield name, Array("float32", value.shape, value.tobytes())
        except (SafetensorError, TypeError) as error:  # numpy knows no bfloat16
            raise ConfigError("a checkpoint must be whole, and float32", got=error, at=path) from None


class HuggingFaceExporter:
    """A folder of `model.safetensors`, `config.json` and the tokenizer; see `assay.core.exporter.Exporter`.

    Args:
        dtype: Of the weights: `float32`, `bfloat16` or `float16`.

    Raises:
        ConfigError: another dtype.
    """

    def __init__(self, dtype: str = "float32") -> None:
        if dtype not in _DTYPES:
            raise ConfigError(f"dtype must be one of {', '.join(_DTYPES)}", got=dtype)
        self._dtype = dtype

    def write(self, folder: Path, state: "Iterable[tuple[str, Array | Tensor]]", policy: Path) -> None:
        """See `Exporter`.

        Raises:
            ConfigError: a tensor is missing, unknown or has another shape.
        """
        import torch
        from safetensors.torch import save_file

        wanted = Architecture.read(policy).tensors()
        dtype = getattr(torch, self._dtype)
        tensors: dict[str, Tensor] = {}
        for name, value in state:
            if name == "lm_head.weight" and name not in wanted:
                continue
            shape = tuple(value.shape)
            if wanted.get(name) != shape:
                raise ConfigError("a state must fit its policy", got=f"{name} of shape {shape}", at=policy)
            tensor = array_to_tensor(value) if isinstance(value, Array) else value.detach().cpu()
            tensors[name] = tensor.to(dtype, copy=True).contiguous()
        if missing := sorted(wanted.keys() - tensors.keys()):
            raise ConfigError("a state must hold every tensor of its policy", got=f"no {', '.join(missing)}", at=policy)
        for pattern in _COMPANIONS:
            for path in sorted(policy.glob(pattern)):
                if path.name not in _NOT_COPIED:
                    shutil.copyfile(path, folder / path.name)
        config = json.loads((policy / "config.json").read_bytes())
        config.pop("torch_dtype", None)
        (folder / "config.json").write_text(json.dumps(config | {"dtype": self._dtype}, indent=2) + "\n", "utf-8")
        save_file({name: tensors[name] for name in wanted}, folder / "model.safetensors", {"format": "pt"})


def array_to_tensor(array: Array) -> "Tensor":
    """Return a tensor with a copy of the bytes."""
    import torch

    dtypes = {"int32": torch.int32, "int64": torch.int64, "float32": torch.float32, "float64": torch.float64}
    return torch.frombuffer(bytearray(array.data), dtype=dtypes.get(array.dtype, torch.uint8)).view(array.shape)
