"""Real scorers that run their answers: nothing is left behind, the verdict is as declared, the next one is right."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.runtime.verify.host import Outcome, VerifierHost, VerifierRef
from assay.runtime.verify.message import Job, Limits

pytestmark = pytest.mark.slow

SYMPY = ("countdown", "puzzle24", "polynomial_multiplication", "simple_integration")
EVAL = ("string_insertion", "n_queens")
RIGHT = {
    "countdown": "94*4 - 61 - 6",
    "puzzle24": "10*(8 - 5) - 6",
    # The generator's task depends on the order of a set; workers hash texts with a fixed seed.
    "polynomial_multiplication": "2240*x**3 + 3584*x**2 - 896*x",
    "simple_integration": "-34*x**8/15 - 5*x/4 + C",
    "string_insertion": "EACADDDDB",
    "prime_factorization": "139",
}
Score = Callable[..., Outcome]


@pytest.fixture(scope="module")
def score(plugin_folder: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Score]:
    """Score an answer on one host that all tests of this file share: what one leaves would meet the next."""
    folder = tmp_path_factory.mktemp("scratch")
    limits = Limits(memory_bytes=512 << 20)
    refs = {name: f"assay-hazard:1.0.0:assay_gym:{name}" for name in ("here", "forked", "unscored")}
    with VerifierHost(paths=[plugin_folder], folder=folder, limits=limits) as host:
        host.start([VerifierRef(ref, "worker" if name == "here" else "fork") for name, ref in refs.items()])
        host.wait_started()
        number = [0]

        def score(name: str, generator: str, answer: str, timeout_s: float | None = None) -> Outcome:
            number[0] += 1
            host.submit(Job(number[0], refs[name], {"generator": generator}, answer, None, timeout_s))
            while not (outcomes := host.poll(10.0)):
                pass
            (outcome,) = outcomes
            return outcome

        yield score


def verdict(outcome: Outcome) -> Any:
    """The signal where it was measured, else the cause."""
    return outcome.measurement.signals["right"] if outcome.measurement is not None else outcome.cause


def hostile(code: str) -> str:
    """An answer that runs code where it is evaluated; every letter of the code also counts as a symbol elsewhere."""
    return f"__import__('builtins').exec({code!r})"


@pytest.mark.parametrize("mode", ["here", "forked"])
@pytest.mark.parametrize("generator", sorted(RIGHT))
def test_right_answer_is_right_and_wrong_one_is_scored_wrong(score: Score, mode: str, generator: str) -> None:
    assert verdict(score(mode, generator, RIGHT[generator])) is True
    wrong = "7" if generator != "prime_factorization" else "7 × 2"
    assert verdict(score(mode, generator, wrong)) is False


@pytest.mark.parametrize("mode", ["here", "forked"])
@pytest.mark.parametrize("generator", [*SYMPY, *EVAL])
def test_answer_that_writes_a_file_leaves_none(score: Score, mode: str, generator: str, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w').write('x')"
    assert verdict(score(mode, generator, hostile(code))) in (False, "verifier_fault")
    assert not ran.exists()
    assert verdict(score(mode, "countdown", RIGHT["countdown"])) is True


@pytest.mark.parametrize("mode", ["here", "forked"])
@pytest.mark.parametrize("generator", [*SYMPY, *EVAL])
def test_answer_that_opens_a_socket_reaches_nobody(score: Score, mode: str, generator: str, tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as unix, socket.create_server(("127.0.0.1", 0)) as tcp:
        unix.bind(path)
        unix.listen()
        address = tcp.getsockname()
        for code in (
            f"import socket; socket.socket(socket.AF_UNIX).connect({path!r})",
            f"import socket; socket.create_connection({address!r})",
        ):
            assert verdict(score(mode, generator, hostile(code))) in (False, "verifier_fault")
        for server in (unix, tcp):
            server.setblocking(False)
            with pytest.raises(BlockingIOError):
                server.accept()
    assert verdict(score(mode, "puzzle24", RIGHT["puzzle24"])) is True


@pytest.mark.parametrize("mode", ["here", "forked"])
@pytest.mark.parametrize("generator", ["countdown", "n_queens"])
def test_answer_that_leaves_a_daemon_leaves_none(score: Score, mode: str, generator: str) -> None:
    mark = f"z{os.getpid()}{mode[0]}{generator[0]}"
    code = (
        "import os, time, ctypes\n"
        "if os.fork() == 0:\n"
        f"    os.setsid(); ctypes.CDLL(None).prctl(15, b'{mark}', 0, 0, 0); time.sleep(600)"
    )
    assert verdict(score(mode, generator, hostile(code))) in (False, "verifier_fault")
    names = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                names.append((entry / "comm").read_text().strip())
            except OSError:
                continue
    assert mark not in names
    assert verdict(score(mode, "string_insertion", RIGHT["string_insertion"])) is True


@pytest.mark.parametrize(("mode", "expected"), [("here", False), ("forked", False), ("unscored", "verifier_timeout")])
@pytest.mark.parametrize("answer", ["9**9**9**9", hostile("while True: pass")])
def test_answer_that_hangs_is_judged_as_declared(score: Score, mode: str, expected: Any, answer: str) -> None:
    outcome = score(mode, "puzzle24", answer, timeout_s=1.0)
    assert (expected, True) == (verdict(outcome), outcome.is_timeout)
    assert verdict(score(mode, "puzzle24", RIGHT["puzzle24"])) is True


@pytest.mark.parametrize("mode", ["here", "forked"])
def test_answer_that_eats_memory_is_stopped(score: Score, mode: str) -> None:
    assert verdict(score(mode, "countdown", hostile("x = bytearray(1 << 34)"))) in (False, "verifier_fault")
    assert verdict(score(mode, "countdown", RIGHT["countdown"])) is True


@pytest.mark.parametrize("mode", ["here", "forked"])
@pytest.mark.parametrize(
    "code", ["import os; os._exit(0)", "import sys; sys.exit(0)", "import os; os.kill(os.getpid(), 9)"]
)
def test_answer_that_ends_the_process_earns_nothing(score: Score, mode: str, code: str) -> None:
    assert verdict(score(mode, "countdown", hostile(code))) is not True
    assert verdict(score(mode, "countdown", RIGHT["countdown"])) is True


@pytest.mark.parametrize("mode", ["here", "forked"])
def test_answer_that_prints_garbage_changes_nothing(score: Score, mode: str) -> None:
    code = "import os; print('x' * 100000); os.write(1, b'y' * 1000); os.write(2, b'z' * 1000)"
    assert verdict(score(mode, "countdown", hostile(code))) is not True
    assert verdict(score(mode, "countdown", RIGHT["countdown"])) is True


def test_scorer_that_is_patched_by_an_answer_is_itself_again_after_a_fork(score: Score) -> None:
    code = "import assay_gym; assay_gym.grade = lambda *_: assay_gym.Scored(right=True)"
    score("forked", "countdown", hostile(code))
    assert verdict(score("forked", "countdown", "1")) is False


def test_scorer_that_raises_is_a_fault_naming_it_and_the_next_verdict_is_right(score: Score) -> None:
    outcome = score("forked", "prime_factorization", "seven")
    assert "verifier_fault" == outcome.cause
    assert outcome.detail.startswith("gym.forked v1 of assay-hazard 1.0.0: ValueError")
    assert verdict(score("forked", "prime_factorization", "139")) is True
