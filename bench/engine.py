"""Tokens per CPU second of the embedded engine, beside plain transformers on the same weights, in the same run.

Both sample at temperature 1 and report log-probs. A ratio over 1 means that the engine needs less CPU time. Lengths are
equal and no sample ends early, which favours transformers: it cannot let new requests join. Rounds alternate, and
the quickest of each counts, so that neither profits from a quiet moment.

* `tiny_*`: the quickstart's policy, 512 requests of 8 prompt and 5 new tokens; in groups of 8, or all different.
* `3m_*`, `24m_*`: 32 prompt and 32 new tokens at batch 1, 16 and 64, all prompts different.
* `group_gain`: the engine against itself with sharing off; 256 prompt and 16 new tokens, groups of 8.
"""

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.core.array import Array
from assay.core.engine import GenerateRequest, Sampling
from assay.runtime.policy.architecture import Architecture

NAME = "engine"

TINY = Architecture(
    family="llama", vocab_size=50, hidden_size=96, ffn_size=256, num_layers=2, num_heads=4, num_kv_heads=4,
    head_dim=24, rope_theta=10.0, is_tied=True, max_context=64,
)  # fmt: skip
SMALL = Architecture(
    family="llama", vocab_size=512, hidden_size=256, ffn_size=688, num_layers=4, num_heads=8, num_kv_heads=4,
    head_dim=32, is_tied=True, max_context=512,
)  # fmt: skip
MEDIUM = Architecture(
    family="llama", vocab_size=4096, hidden_size=512, ffn_size=1376, num_layers=8, num_heads=8, num_kv_heads=4,
    head_dim=64, is_tied=True, max_context=512,
)  # fmt: skip


def run() -> dict[str, float]:
    """Return engine tokens per CPU second and the ratio to plain transformers."""
    import torch

    torch.set_num_threads(1)
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        tiny, small, medium = (
            write_policy(Path(name) / str(i), shape) for i, shape in enumerate((TINY, SMALL, MEDIUM))
        )
        found |= compare("tiny_groups", tiny, np.repeat(prompts(64, 8, 50), 8, 0), 5)
        found |= compare("tiny_distinct", tiny, prompts(512, 8, 50), 5)
        for label, folder, vocab in (("3m", small, 512), ("24m", medium, 4096)):
            for batch in (1, 16, 64):
                found |= compare(f"{label}_batch{batch}", folder, prompts(batch, 32, vocab), 32)
        found["group_gain"] = group_gain(small)
    return found


def compare(label: str, folder: Path, prompts_BP: np.ndarray, new_tokens: int) -> dict[str, float]:
    """Measure both on one job; returns `<label>_tokens_per_cpu_s` and `<label>_ratio`."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    reference: Any = AutoModelForCausalLM.from_pretrained(folder)
    ids_BP = torch.from_numpy(prompts_BP.astype(np.int64))

    def plain() -> None:
        output = reference.generate(
            ids_BP, attention_mask=torch.ones_like(ids_BP), do_sample=True, top_k=0, max_new_tokens=new_tokens,
            eos_token_id=None, pad_token_id=0, output_logits=True, return_dict_in_generate=True,
        )  # fmt: skip
        sampled_BS = output.sequences[:, ids_BP.shape[1] :]
        torch.stack(output.logits, 1).log_softmax(-1).gather(2, sampled_BS.unsqueeze(2))

    engine_s, plain_s = alternate(make_job(folder, prompts_BP, new_tokens), plain)
    return {
        f"{label}_tokens_per_cpu_s": len(prompts_BP) * new_tokens / engine_s,
        f"{label}_ratio": plain_s / engine_s,
    }


def group_gain(folder: Path) -> float:
    """Return how many times quicker a group of 8 is when its prompt is computed once."""
    prompts_BP = np.repeat(prompts(2, 256, 512), 8, 0)
    # A first token of their own keeps siblings from sharing anything.
    apart_BP = prompts_BP.copy()
    apart_BP[:, 0] = np.arange(len(apart_BP))
    shared_s, apart_s = alternate(make_job(folder, prompts_BP, 16), make_job(folder, apart_BP, 16))
    return apart_s / shared_s


def make_job(folder: Path, prompts_BP: np.ndarray, new_tokens: int) -> Callable[[], None]:
    """Return a job of a fresh engine; finished prompts are not kept from one round to the next."""
    from assay.runtime.engine.embedded import EmbeddedEngine

    rows, context = len(prompts_BP), prompts_BP.shape[1] + new_tokens
    engine = EmbeddedEngine(folder, max_active=rows, max_context=context, max_retained=0)
    packed = [Array("int32", prompt.shape, prompt.tobytes()) for prompt in prompts_BP]
    rounds = iter(range(1_000_000))

    def job() -> None:
        seed = next(rounds) * rows
        for index, prompt in enumerate(packed):
            engine.submit(GenerateRequest(index, prompt, Sampling(new_tokens, seed=seed + index)))
        while engine.num_active:
            engine.poll()

    return job


def alternate(*jobs: Callable[[], None], rounds: int = 5) -> Sequence[float]:
    """Run jobs in turn; returns the least CPU seconds of each."""
    best = [float("inf")] * len(jobs)
    for job in jobs:
        job()
    for _ in range(rounds):
        for index, job in enumerate(jobs):
            start = time.process_time()
            job()
            best[index] = min(best[index], time.process_time() - start)
    return best


def prompts(rows: int, length: int, vocab: int) -> np.ndarray:
    """Return random prompts; int32, shape (rows, length)."""
    return np.random.default_rng(0).integers(4, vocab, (rows, length), dtype=np.int32)


def write_policy(folder: Path, shape: Architecture) -> Path:
    """Write random weights."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir()
    generator = torch.Generator().manual_seed(0)
    state = {name: torch.randn(size, generator=generator) * 0.02 for name, size in shape.tensors().items()}
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(shape.to_config()), encoding="utf-8")
    return folder
