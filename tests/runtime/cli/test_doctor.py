"""`assay doctor`: one line per thing, the command below what is wrong, and a status that programs can use."""

import json

import pytest

from assay.runtime.cli import doctor, main
from assay.runtime.preflight.check import Check

OK = Check("python", "ok", "3.11.7")
WARN = Check("docker engine", "warn", "must answer", "sudo systemctl start docker")
FAIL = Check("torch", "fail", "not installed", "python -m pip install torch")


@pytest.mark.parametrize(
    ("checks", "words", "status"),
    [
        ([OK], [], 0),
        ([OK, WARN], [], 0),
        ([OK, WARN], ["--strict"], 1),
        ([OK, FAIL], [], 1),
    ],
)
@pytest.mark.parametrize("style", ["text", "json"])
def test_status_says_whether_a_run_can_start(
    checks: list[Check],
    words: list[str],
    status: int,
    style: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda _: checks)
    assert status == main(["doctor", "--format", style, *words])
    out = capsys.readouterr().out
    if style == "json":
        content = json.loads(out)
        assert (not status, [check.name for check in checks]) == (
            content["ok"],
            [check["name"] for check in content["checks"]],
        )
    else:
        assert [check.state for check in checks] == [line.split()[0] for line in out.splitlines() if line[:1].islower()]
        assert [True] * len(checks) == [check.fix in out for check in checks]


@pytest.mark.slow
def test_every_check_runs_here(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--format", "json"])
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    names = ["python", "packages", "extra train", "extra docker", "extra judge", "torch", "plugins", "sandboxes",
             "docker engine", "verifier lockdown", "shared memory", "memory", "cores", "run folder"]  # fmt: skip
    assert names == list(checks)
    assert [] == [name for name, check in checks.items() if (check["state"] == "ok") == bool(check["fix"])]
