"""The built-in schedulers keep the contract that plugins are held to."""

from assay.runtime.scheduler import SCHEDULERS
from assay.testing import SchedulerContract

FIFO, FAIR, TIERED = SCHEDULERS

TestFifo = SchedulerContract.of(FIFO)
TestFair = SchedulerContract.of(FAIR)
# It keeps slots for cheap work.
TestTiered = SchedulerContract.of(TIERED, is_work_conserving=False)
TestTieredWithoutCap = SchedulerContract.of(TIERED, options={"heavy_s": 10.0, "max_heavy": 10**6})
