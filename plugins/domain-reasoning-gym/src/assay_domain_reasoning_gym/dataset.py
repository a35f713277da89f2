"""The only door to the reasoning-gym package, which takes about a second to import."""

from collections.abc import Mapping
from typing import Any, Protocol

import assay
from assay_domain_reasoning_gym.recipe.base import Entry


class Dataset(Protocol):
    """A generator with its options; the same index gives the same entry."""

    def __getitem__(self, index: int, /) -> Entry: ...


def open_dataset(generator: str, seed: int, config: Mapping[str, Any]) -> Dataset:
    """Return a generator of reasoning-gym.

    Raises:
        AssayError: there is no such generator, or it refuses an option.
    """
    import reasoning_gym

    try:
        dataset: Dataset = reasoning_gym.create_dataset(generator, seed=seed, **config)
    except (AssertionError, TypeError, ValueError) as error:
        raise assay.AssayError(
            f"the generator `{generator}` must accept its options",
            got=f"{dict(config)}: {error}",
            at=f"reasoning_gym.{generator}",
            code="DA001",
        ) from error
    return dataset
