"""The function keeps the contract of functions."""

from assay_example_function.half_life import half_life

from assay.testing import FunctionContract

TestHalfLife = FunctionContract.of(
    half_life,
    cases={(0.0, 512.0): 1.0, (512.0, 512.0): 0.5, (1024.0, 512.0): 0.25, (100.0, 1e-6): 0.0},
    between={"x": (0.0, 10_000.0), "at": (1e-6, 4096.0)},
)
