"""The built-in samplers keep the contract that plugins are held to."""

from assay.runtime.sampler import SAMPLERS
from assay.testing import SamplerContract

UNIFORM, BAND = SAMPLERS

TestUniform = SamplerContract.of(UNIFORM, floor=1.0)
TestBand = SamplerContract.of(BAND, band=(0.2, 0.8))
TestNarrowBand = SamplerContract.of(
    BAND, options={"low": 0.4, "high": 0.6, "explore": 0.3}, band=(0.4, 0.6), floor=0.25
)
