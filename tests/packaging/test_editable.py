"""An editable install is a view of the checkout, not a copy."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = "import site, sys; site.addsitedir(sys.argv[1]); from assay.core.newcomer import GREETING; print(GREETING)"


@pytest.mark.slow
def test_new_file_is_seen_without_a_new_install(checkout: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"),
            *("--target", str(site), "--editable", str(checkout)),
        ],
        check=True,
    )
    assert [f"{checkout}/src"] == [line for pth in site.glob("*.pth") for line in pth.read_text().split()]

    (checkout / "core" / "newcomer.py").write_text('GREETING = "seen"\n')
    # -S leaves out this environment's own packages: only `site` can provide assay.
    found = subprocess.run([sys.executable, "-I", "-S", "-c", PROGRAM, str(site)], capture_output=True, text=True)
    assert ("seen\n", "") == (found.stdout, found.stderr)
