"""The one place that knows whether Megatron runs on CUDA or on a plain CPU.

megatron-core names CUDA devices outright. Where CUDA exists this module changes nothing. Where it does not, `prepare`
makes those names mean the CPU: factories given a CUDA device allocate on the CPU, `torch.cuda` answers for a single CPU
device, and tensors report the CUDA type that Megatron asserts. That is process-wide, so it is called in trainer ranks
only, before the first import of Megatron.

Invariants: inert where CUDA exists; nothing is patched twice; no wrapper stands in the path of an ordinary operation,
only in that of tensor factories.
"""

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any, cast

import torch

_FACTORIES = ("arange", "empty", "empty_strided", "eye", "full", "linspace", "ones", "rand", "randn", "tensor", "zeros")
_is_prepared = False


def is_cpu() -> bool:
    """Whether trainer ranks of this process run without CUDA."""
    return not torch.cuda.is_available()


def current() -> torch.device:
    """Return the device that holds this rank's weights."""
    return torch.device("cpu") if is_cpu() else torch.device("cuda", torch.cuda.current_device())


def backend() -> str:
    """Return the torch.distributed backend of this rank."""
    return "gloo" if is_cpu() else "nccl"


def prepare() -> bool:
    """Make Megatron importable and usable here; returns whether anything was patched."""
    global _is_prepared
    if not is_cpu():
        return False
    if not _is_prepared:
        _is_prepared = True
        _redirect_factories()
        _redirect_cuda()
        _import_without_compiler()
        _redirect_rng()
    return True


def _redirect_factories() -> None:
    # `with torch.device(...)` looks the factories up at its first use: it must find the plain ones, which ours call.
    with torch.device("cpu"):
        torch.empty(0)
    for name in _FACTORIES:
        setattr(torch, name, _on_cpu(getattr(torch, name)))


def _on_cpu(factory: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(factory)
    def allocate(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if device is not None and str(device).startswith("cuda"):
            kwargs["device"] = "cpu"
            kwargs.pop("pin_memory", None)
        return factory(*args, **kwargs)

    return allocate


def _redirect_cuda() -> None:
    cuda: Any = torch.cuda
    cpu = torch.device("cpu")
    cuda.current_device = lambda: cpu
    cuda.set_device = lambda device: None
    cuda.synchronize = lambda device=None: None
    cuda.manual_seed = torch.manual_seed
    cuda.get_rng_state = lambda device=None: torch.get_rng_state()
    cuda.set_rng_state = lambda state, device=None: torch.set_rng_state(state)
    tensor: Any = torch.Tensor
    tensor.cuda = lambda self, *args, **kwargs: self
    tensor.type = _cuda_type(tensor.type)


def _cuda_type(plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def type_of(self: torch.Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if dtype is not None:
            return plain(self, dtype, *args, **kwargs)
        return plain(self).replace("torch.", "torch.cuda.", 1)

    return type_of


def _import_without_compiler() -> None:
    """Import Megatron with `torch.compile` as the identity.

    Its fused functions are decorated at import. On a CPU that costs seconds of import and would ask for a C++ compiler
    at the first call; none of them is used here.
    """
    with _identity_compile(), warnings.catch_warnings():
        # That it found neither Transformer Engine nor Apex is no news on a CPU; the rest concerns its own imports.
        warnings.simplefilter("ignore")
        from megatron.core import jit

        jit.disable_jit_fuser()
        import megatron.core.models.gpt.gpt_layer_specs
        import megatron.core.optimizer  # noqa: F401


@contextlib.contextmanager
def _identity_compile() -> Iterator[None]:
    def identity(model: Any = None, **options: Any) -> Any:
        return model if model is not None else lambda plain: plain

    compiler, torch_module = torch.compile, cast(Any, torch)
    torch_module.compile = identity
    try:
        yield
    finally:
        torch_module.compile = compiler


def _redirect_rng() -> None:
    from megatron.core.tensor_parallel import random

    def get_state(device: Any = "cuda", clone: bool = False, graph_safe: bool = False) -> torch.Tensor:
        return torch.get_rng_state()

    def set_state(new_state: torch.Tensor, device: int = -1, graph_safe: bool = False) -> None:
        torch.set_rng_state(new_state)

    random._get_cuda_rng_state = get_state
    random._set_cuda_rng_state = set_state
