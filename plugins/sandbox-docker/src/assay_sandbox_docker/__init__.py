"""Docker containers as sandboxes."""

import assay
from assay_sandbox_docker.backend import DockerBackend


@assay.hookimpl
def assay_sandboxes() -> list[DockerBackend]:
    """Offer the `docker` backend."""
    return [DockerBackend()]


@assay.hookimpl
def assay_config_dirs() -> list[str]:
    """Offer the group file `sandbox=docker`."""
    return ["assay_sandbox_docker/conf"]
