"""Schedulers: which waiting episode goes to which free slot."""

from assay.core.leaf import Factory

SCHEDULERS = (
    Factory("fifo", "assay.runtime.scheduler.fifo:Fifo", "First come, first served."),
    Factory("fair", "assay.runtime.scheduler.fair:Fair", "Whose domain is most behind its share comes first."),
    Factory("tiered", "assay.runtime.scheduler.tiered:Tiered", "Cheap work first, and a cap for heavy work."),
)
