"""The exporter keeps the contract of exporters."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from assay_example_exporter import NUMPY, NumpyExporter

from assay.core.error import AssayError
from assay.testing import ExporterContract


def read(folder: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Read an export back as its README says."""
    for name, file in json.loads((folder / "policy.json").read_text())["weights"].items():
        yield name, np.load(folder / file)


TestNumpy = ExporterContract.of(NUMPY, read=read)
TestHalf = ExporterContract.of(NUMPY, read=read, options={"dtype": "float16"}, tolerance=1e-3)


@pytest.mark.parametrize("dtype", ["int8", "bfloat17"])
def test_what_is_no_float_type_is_refused(dtype: str) -> None:
    with pytest.raises(AssayError, match=f"dtype must be .*, got {dtype}"):
        NumpyExporter(dtype)
