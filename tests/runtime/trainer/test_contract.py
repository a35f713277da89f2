"""The Megatron trainer keeps the contract of trainers."""

import pytest

from assay.runtime.testing.trainer import TrainerContract
from assay.runtime.trainer import MEGATRON

pytestmark = pytest.mark.slow  # Megatron is imported

TestMegatron = TrainerContract.of(MEGATRON)
