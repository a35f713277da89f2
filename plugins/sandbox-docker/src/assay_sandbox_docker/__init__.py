"""Docker containers as sandboxes."""

import assay
from assay_sandbox_docker.backend import DockerBackend


@assay.hookimpl
def assay_sandboxes() -> list[DockerBackend]:
    """Offer the `docker` backend."""
    return [DockerBackend()]
