"""An Assay exporter: weights as numpy arrays, for programs that know neither torch nor safetensors."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import assay
from assay.core.array import Array
from assay.core.error import ConfigError
from assay.core.leaf import Factory


class NumpyExporter:
    """See `assay.core.exporter.Exporter`: `weights/<name>.npy` each, and `policy.json` with shape and file of all.

    Args:
        dtype: numpy's name of a float type, such as `float16`.

    Raises:
        ConfigError: it is none.
    """

    def __init__(self, dtype: str = "float32") -> None:
        import numpy as np

        try:
            self._dtype = np.dtype(dtype)
        except TypeError:
            raise ConfigError("dtype must be one of numpy's", got=dtype) from None
        if self._dtype.kind != "f":
            raise ConfigError("dtype must be a float type", got=dtype)

    def write(self, folder: Path, state: Iterable[tuple[str, Array]], policy: Path) -> None:
        """Write one array at a time."""
        import numpy as np

        from assay.runtime.policy.architecture import Architecture

        shapes = Architecture.read(policy).tensors()
        (folder / "weights").mkdir()
        written = {}
        for name, array in state:
            values = np.frombuffer(array.data, np.float32).reshape(array.shape).astype(self._dtype)
            written[name] = f"weights/{name}.npy"
            np.save(folder / written[name], values)
        if missing := sorted(shapes.keys() - written.keys()):
            raise ConfigError("a policy must be exported whole", got=f"no {', '.join(missing)}", at=policy)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            if (policy / file).exists():
                (folder / file).write_bytes((policy / file).read_bytes())
        described = {
            "config": json.loads((policy / "config.json").read_bytes()),
            "dtype": self._dtype.name,
            "weights": {name: written[name] for name in sorted(written)},
        }
        (folder / "policy.json").write_text(json.dumps(described, indent=1) + "\n")


NUMPY = Factory("numpy", NumpyExporter, "A `.npy` file per weight, and JSON.")


@assay.hookimpl
def assay_exporters() -> Sequence[Factory]:
    """Offer `numpy`."""
    return (NUMPY,)
