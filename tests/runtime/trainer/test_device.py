import subprocess
import sys

import pytest

INERT = """
import sys
import torch
torch.cuda.is_available = lambda: True
torch.cuda.current_device = lambda: 0
watched = [(torch, name) for name in ("zeros", "tensor", "empty", "full", "compile")]
watched += [(torch.Tensor, "cuda"), (torch.Tensor, "type"), (torch.cuda, "synchronize"), (torch.cuda, "manual_seed")]
before = [getattr(owner, name) for owner, name in watched]
from assay.runtime.trainer import device
assert device.prepare() is False
assert all(getattr(owner, name) is value for (owner, name), value in zip(watched, before, strict=True))
assert not any(name.startswith("megatron") for name in sys.modules)
assert "nccl" == device.backend()
assert torch.device("cuda", 0) == device.current()
"""

ACTIVE = """
import sys
import torch
torch.cuda.is_available = lambda: False
compiler = torch.compile
from assay.runtime.trainer import device
assert device.prepare() is True and device.prepare() is True
assert torch.device("cpu") == torch.zeros(2, device="cuda").device
assert torch.device("cpu") == torch.empty(2, device=torch.cuda.current_device()).device
assert torch.compile is compiler
with torch.device("meta"):
    assert torch.arange(2).is_meta and torch.zeros(2).is_meta
assert "torch._inductor" not in sys.modules
"""

LIGHT = """
import sys
import assay.runtime.trainer, assay.runtime.algorithm.grpo
assert not {"torch", "megatron", "numpy"} & set(sys.modules)
"""


@pytest.mark.slow
@pytest.mark.parametrize("program", [INERT, ACTIVE, LIGHT], ids=["cuda", "cpu", "light"])
def test_device_is_prepared_where_cuda_is_missing_and_only_there(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (0, "") == (done.returncode, done.stderr)
