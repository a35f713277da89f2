"""A plugin of hazardous verifiers, installed for workers, and hosts for them."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.runtime.verify.host import Outcome, VerifierHost, VerifierRef
from assay.runtime.verify.message import Job, Limits

DIST = "assay-hazard:1.0.0"


def ref_of(name: str) -> str:
    """Reference of a verifier in `hazard.py`."""
    return f"{DIST}:assay_hazard:{name}"


@pytest.fixture(scope="session")
def plugin_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder to import from that holds the installed plugin."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("hazard", "gym"):
        shutil.copy(Path(__file__).with_name(f"{name}.py"), folder / f"assay_{name}.py")
    metadata = folder / "assay_hazard-1.0.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: assay-hazard\nVersion: 1.0.0\n")
    return str(folder)


class Bench:
    """A started host, and one call at a time on it."""

    def __init__(self, host: VerifierHost) -> None:
        self.host = host
        self.num_jobs = 0

    def submit(self, name: str, answer: str, timeout_s: float | None = None, **arguments: object) -> int:
        self.num_jobs += 1
        self.host.submit(Job(self.num_jobs, ref_of(name), arguments, answer, None, timeout_s))
        return self.num_jobs

    def collect(self, count: int, within_s: float = 120.0) -> dict[int, Outcome]:
        found: dict[int, Outcome] = {}
        until = time.monotonic() + within_s
        while len(found) < count and time.monotonic() < until:
            found.update((outcome.job_id, outcome) for outcome in self.host.poll(min(0.5, within_s)))
        return found

    def call(self, name: str, answer: str, timeout_s: float | None = None, **arguments: object) -> Outcome:
        job_id = self.submit(name, answer, timeout_s, **arguments)
        return self.collect(1)[job_id]


MakeBench = Callable[..., Bench]


@pytest.fixture
def make_bench(plugin_folder: str, tmp_path: Path) -> Iterator[MakeBench]:
    """Make a host for the named verifiers."""
    hosts: list[VerifierHost] = []

    def make(*names: str, mode: str = "worker", net: bool = False, limits: Limits | None = None, **options) -> Bench:
        folder = tmp_path / "scratch"
        folder.mkdir(exist_ok=True)
        host = VerifierHost(paths=[plugin_folder], folder=folder, limits=limits, **options)
        hosts.append(host)
        host.start([VerifierRef(ref_of(name), mode, net) for name in names])  # type: ignore[arg-type]
        host.wait_started()
        return Bench(host)

    yield make
    for host in hosts:
        host.close()
    assert [] == list((tmp_path / "scratch").iterdir()) if hosts else True
