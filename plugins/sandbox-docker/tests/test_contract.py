"""The backend keeps the contract that every sandbox backend must keep."""

import os

import pytest

from assay.core.sandbox import SandboxSpec
from assay.testing import SandboxContract
from assay_sandbox_docker.backend import DockerBackend

ENGINE = os.environ.get("DOCKER_HOST") or "unix:///var/tmp/assay-dockerd/docker.sock"


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.usefixtures("image")
class TestDocker(SandboxContract):
    sandbox = DockerBackend(base_url=ENGINE)
    spec = SandboxSpec("assay-test:1", history="keep")
    folder = "/work"
    # Starting a box takes longer on a machine that is busy.
    longest_s = 30.0
