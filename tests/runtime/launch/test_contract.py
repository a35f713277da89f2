"""The local launcher keeps the contract of launchers."""

import pytest

from assay.runtime.launch import LAUNCHERS
from assay.runtime.testing.launcher import LauncherContract

pytestmark = pytest.mark.slow  # real processes

(LOCAL,) = LAUNCHERS

TestLocal = LauncherContract.of(LOCAL)
