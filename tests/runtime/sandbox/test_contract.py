"""The backend of plain processes keeps the contract that every package's backends must keep."""

import pytest

from assay.runtime.sandbox.process import ProcessBackend
from assay.testing import SandboxContract

pytestmark = pytest.mark.slow

TestProcess = SandboxContract.of(ProcessBackend())
