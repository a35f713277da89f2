"""The only door to the reasoning-gym package, which takes about a second to import."""

import contextlib
import io
from collections.abc import Mapping
from typing import Any, Protocol

import assay
from assay_domain_reasoning_gym.level import resolve
from assay_domain_reasoning_gym.recipe.base import Entry

# Generators whose code prints while it makes an entry.
LOUD = {"bf"}


class Dataset(Protocol):
    """A generator with its options; the same index gives the same entry."""

    def __getitem__(self, index: int, /) -> Entry: ...


class Silent:
    """A generator whose prints go nowhere."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset

    def __getitem__(self, index: int, /) -> Entry:
        with contextlib.redirect_stdout(io.StringIO()):
            return self.dataset[index]


def open_dataset(generator: str, seed: int, config: Mapping[str, Any]) -> Dataset:
    """Return a generator of reasoning-gym.

    Args:
        generator: Its name.
        seed: Of its entries.
        config: Options, and attributes of difficulty as `level.attributes` lists them.

    Raises:
        AssayError: there is no such generator, or it does not know or refuses an option.
    """
    import reasoning_gym

    options = resolve(generator, config)
    try:
        dataset: Dataset = reasoning_gym.create_dataset(generator, seed=seed, **options)
    except (AssertionError, TypeError, ValueError) as error:
        raise assay.AssayError(
            f"the generator `{generator}` must accept its options",
            got=f"{options}: {error}",
            at=f"reasoning_gym.{generator}",
            code="DA001",
        ) from error
    return Silent(dataset) if generator in LOUD else dataset
