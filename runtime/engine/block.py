"""How many rows one product may have in batch-invariant mode.

A matrix library may compute a row otherwise when it stands elsewhere or when there are more of them. With a fixed
number of rows and positions only the place is left; whether it matters depends on the library, the processor and the
sizes, so it is tried, once, with the policy at hand.
"""

import numpy as np
import torch

from assay.runtime.engine.cache import Cache
from assay.runtime.policy.model import Model

_ROWS = 16


def find_block_rows(model: Model) -> int:
    """Return 16 where a row's scores are the same bits at every place of a block of 16, else 1."""
    shape = model.shape
    context = model.max_context
    cache = Cache(shape, _ROWS, context, model.device, model.dtype)
    generator = np.random.default_rng(0)
    ids_B = generator.integers(0, shape.vocab_size, _ROWS)
    starts_B = generator.integers(0, context, _ROWS)

    def scores(order: np.ndarray) -> torch.Tensor:
        cache.fill(torch.randn(cache.row_shape, generator=torch.Generator().manual_seed(0)))
        positions, attend = cache.attend(0, starts_B[order], np.ones(_ROWS, np.int64), context)
        hidden = model.hidden(torch.from_numpy(ids_B[order]).to(model.device), positions, attend)
        return model.logits(hidden)

    with torch.inference_mode():
        expected = scores(np.arange(_ROWS))
        for shift in range(1, _ROWS):
            order = np.roll(np.arange(_ROWS), shift)
            if not torch.equal(scores(order), expected[torch.from_numpy(order).to(model.device)]):
                return 1
    return _ROWS
