"""Tokens per CPU second of the Megatron trainer, beside plain transformers on the same weights, in the same run.

Both make whole steps: pad, forward, loss, backward, clip, AdamW, in float32 on one thread. Tokens are those of the
sequences, padding not counted. Plain transformers uses PyTorch's fused AdamW too. A ratio over 1 means that the trainer
needs less CPU time. Rounds alternate, and the quickest of each counts.

* `tiny_sft`, `tiny_policy`: the quickstart's policy; 100 demonstrations, 256 samples, of 9 to 13 tokens.
* `3m_policy`, `24m_policy`: 32 and 8 samples of 48 to 64 tokens.
* `first_step_s`: seconds from the start of a process to the end of its first step, imports and all.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.core.array import Array
from assay.core.trainer import TrainSequence, UpdateSettings
from bench.engine import MEDIUM, SMALL, TINY, alternate, write_policy

NAME = "trainer"

_FIRST_STEP = """
import sys
from pathlib import Path
from assay.core.trainer import UpdateSettings
from assay.runtime.trainer.megatron import MegatronTrainer
from bench.trainer import sequences
trainer = MegatronTrainer(Path(sys.argv[1]))
trainer.update(sequences(100, 9, 13, 50), UpdateSettings("sft", 1e-3))
"""


def run() -> dict[str, float]:
    """Return trained tokens per CPU second and the ratio to plain transformers."""
    import torch

    torch.set_num_threads(1)
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        tiny, small, medium = (
            write_policy(Path(name) / str(index), shape) for index, shape in enumerate((TINY, SMALL, MEDIUM))
        )
        started_s = time.perf_counter()
        subprocess.run([sys.executable, "-c", _FIRST_STEP, str(tiny)], check=True)
        found["first_step_s"] = time.perf_counter() - started_s
        sft, policy = UpdateSettings("sft", 1e-3), UpdateSettings("policy", 1e-3)
        found |= compare("tiny_sft", tiny, sequences(100, 9, 13, 50), sft)
        found |= compare("tiny_policy", tiny, sequences(256, 9, 13, 50), policy)
        found |= compare("3m_policy", small, sequences(32, 48, 64, 512), policy)
        found |= compare("24m_policy", medium, sequences(8, 48, 64, 4096), policy)
    return found


def compare(label: str, folder: Path, batch: Sequence[TrainSequence], settings: UpdateSettings) -> dict[str, float]:
    """Measure both on one batch; returns `<label>_tokens_per_cpu_s`, `<label>_step_ms` and `<label>_ratio`."""
    from assay.runtime.trainer.megatron import MegatronTrainer

    trainer = MegatronTrainer(folder)
    ours_s, plain_s = alternate(lambda: trainer.update(batch, settings) and None, plain_step(folder, batch, settings))
    trainer.close()
    num_tokens = sum(len(sequence.tokens) for sequence in batch)
    return {
        f"{label}_tokens_per_cpu_s": num_tokens / ours_s,
        f"{label}_step_ms": 1e3 * ours_s,
        f"{label}_ratio": plain_s / ours_s,
    }


def plain_step(folder: Path, batch: Sequence[TrainSequence], settings: UpdateSettings) -> Callable[[], None]:
    """Return a step of plain transformers on the same batch, padded the same way."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    model: Any = AutoModelForCausalLM.from_pretrained(folder)
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.lr, betas=(0.9, 0.95), weight_decay=0.0, fused=True)

    def padded(arrays: Sequence[Array], dtype: str) -> torch.Tensor:
        rows = [torch.from_numpy(np.frombuffer(array.data, dtype).copy()) for array in arrays]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)

    def step() -> None:
        ids_BT = padded([sequence.tokens for sequence in batch], "<i4").long()
        mask_BT = padded([sequence.loss_mask for sequence in batch], "u1")[:, 1:].float()
        lengths_B = torch.tensor([len(sequence.tokens) for sequence in batch])
        is_token_BT = (torch.arange(ids_BT.shape[1]) < lengths_B[:, None]).long()
        logits_BTV = model(ids_BT, attention_mask=is_token_BT, use_cache=False).logits[:, :-1]
        logprobs_BT = logits_BTV.log_softmax(-1).gather(-1, ids_BT[:, 1:, None]).squeeze(-1)
        loss_BT = -logprobs_BT
        if settings.loss == "policy":
            advantages_BT = padded([sequence.advantages for sequence in batch], "<f4")[:, 1:]
            behavior_BT = padded([sequence.behavior_logprobs for sequence in batch], "<f4")[:, 1:]
            ratio_BT = ((logprobs_BT - behavior_BT) * mask_BT).exp()
            loss_BT = -torch.minimum(ratio_BT * advantages_BT, ratio_BT.clamp(0.8, 1.2) * advantages_BT)
        ((loss_BT * mask_BT).sum() / mask_BT.sum()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()

    return step


def sequences(number: int, shortest: int, longest: int, vocab: int) -> list[TrainSequence]:
    """Return random training sequences whose last 5 tokens are trained."""
    rng = np.random.default_rng(0)
    made = []
    for _ in range(number):
        length = int(rng.integers(shortest, longest + 1))
        mask_T = np.zeros(length, np.uint8)
        mask_T[-5:] = 1
        shape = (length,)
        made.append(
            TrainSequence(
                tokens=Array("int32", shape, rng.integers(4, vocab, length, dtype=np.int32).tobytes()),
                loss_mask=Array("uint8", shape, mask_T.tobytes()),
                behavior_logprobs=Array("float32", shape, (mask_T * np.float32(-np.log(vocab))).tobytes()),
                advantages=Array("float32", shape, (mask_T * np.float32(rng.normal())).tobytes()),
                domain="bench",
            )
        )
    return made
