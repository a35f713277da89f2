"""Samplers: which task of a domain is played next."""

from assay.core.leaf import Factory
from assay.runtime.sampler.band import Band
from assay.runtime.sampler.uniform import Uniform

SAMPLERS = (
    Factory("uniform", Uniform, "Every task with equal chance."),
    Factory("band", Band, "Tasks whose pass rate lies in a band, and unseen ones."),
)
