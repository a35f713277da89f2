"""One job, one outcome, whatever the verifier does."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.core.episode import Episode
from assay.core.error import PluginError
from assay.core.message import Message
from assay.core.trajectory import Trace
from assay.runtime.verify.host import VerifierHost, VerifierRef
from assay.runtime.verify.message import Job, Limits, Reply
from assay.runtime.verify.path import plugin_paths

MakeBench = Callable[..., Any]
RIGHT = {"right": True, "score": 1.0}


def test_measurement_names_the_code_and_its_version(make_bench: MakeBench) -> None:
    outcome = make_bench("length").call("length", "abc", wanted=3)
    assert RIGHT == outcome.measurement.signals
    assert "assay-hazard:1.0.0:assay_hazard:length" == outcome.measurement.verifier
    assert (1, None, 1) == (outcome.measurement.version, outcome.cause, outcome.num_tries)


def test_what_the_runtime_supplies_reaches_the_verifier(make_bench: MakeBench) -> None:
    bench = make_bench("see")
    episode = Episode(7, "d", {"word": "x"}, (Message.of_text("user", "?"),), "x", "x", Trace(1, 1, 1))
    bench.host.submit(Job(1, "assay-hazard:1.0.0:assay_hazard:see", {"wanted": "x"}, "x", episode))
    assert bench.collect(1)[1].measurement.signals["right"]


def test_every_job_has_one_outcome_in_any_order(make_bench: MakeBench) -> None:
    bench = make_bench("length", num_processes=2)
    wanted = {bench.submit("length", "a" * n, wanted=5): n == 5 for n in range(12)}
    found = bench.collect(12)
    assert wanted == {job_id: outcome.measurement.signals["right"] for job_id, outcome in found.items()}
    assert [] == bench.host.poll(0.0)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("nan", "must be a finite number"),
        ("inf", "must be a finite number"),
        ("range", "must lie in float[0, 1], got 1.5"),
        ("type", "must be bool, got 'yes'"),
        ("class", "must return its declared Signals, got dict"),
    ],
)
def test_broken_declaration_is_a_fault_that_names_the_distribution(
    make_bench: MakeBench, answer: str, said: str
) -> None:
    outcome = make_bench("broken").call("broken", answer)
    assert (None, "verifier_fault", 1) == (outcome.measurement, outcome.cause, outcome.num_tries)
    assert outcome.detail.startswith("hazard.broken v7 of assay-hazard 1.0.0: ")
    assert said in outcome.detail


@pytest.mark.parametrize("signals", [{"right": True, "score": float("nan")}, {"right": True}, {"right": 1, "score": 1}])
def test_forged_reply_is_refused_by_the_host_too(make_bench: MakeBench, signals: dict[str, Any]) -> None:
    bench = make_bench("length")
    job_id = bench.submit("length", "abc", wanted=3)
    (slot,) = bench.host._pool
    bench.host._on_message(slot, Reply(job_id, "ok", signals))
    (outcome,) = bench.host.poll(0.0)
    assert (None, "verifier_fault") == (outcome.measurement, outcome.cause)


def test_exception_is_retried_as_declared_then_measured(make_bench: MakeBench) -> None:
    outcome = make_bench("flaky").call("flaky", "2")
    assert (RIGHT, 3) == (outcome.measurement.signals, outcome.num_tries)


def test_exception_past_the_retries_is_a_fault_with_its_place(make_bench: MakeBench) -> None:
    outcome = make_bench("flaky").call("flaky", "9")
    assert ("verifier_fault", 3, False) == (outcome.cause, outcome.num_tries, outcome.is_fatal)
    assert r"RuntimeError: call 3 \ud800 at" in outcome.detail
    assert "assay_hazard.py:" in outcome.detail


def test_text_that_no_encoding_knows_is_a_fault_and_ends_no_process(make_bench: MakeBench) -> None:
    bench = make_bench("half")
    (slot,) = bench.host._pool
    pid = slot.process.pid
    outcome = bench.call("half", "x")
    assert ("verifier_fault", 1) == (outcome.cause, outcome.num_tries)
    assert "must be made of whole characters" in outcome.detail
    assert pid == slot.process.pid


def test_failure_declared_fatal_says_so(make_bench: MakeBench) -> None:
    assert make_bench("fatal").call("fatal", "x").is_fatal


def test_timeout_earns_the_declared_signals(make_bench: MakeBench) -> None:
    outcome = make_bench("run").call("run", "while True: pass", timeout_s=0.2)
    assert {"right": False, "score": 0.0} == outcome.measurement.signals
    assert (None, True) == (outcome.cause, outcome.is_timeout)


def test_timeout_without_declared_signals_is_unscored(make_bench: MakeBench) -> None:
    outcome = make_bench("report").call("report", "while True: pass", timeout_s=0.2)
    assert (None, "verifier_timeout", 1) == (outcome.measurement, outcome.cause, outcome.num_tries)


def test_hung_process_is_killed_and_replaced(make_bench: MakeBench) -> None:
    bench = make_bench("run", "report")
    (before,) = bench.host.pids
    hung = bench.call("report", "import os\nresult = os.getpid()").measurement.signals["text"]
    bench.call("run", "while True: pass", timeout_s=0.2)
    assert before not in bench.host.pids
    assert not Path(f"/proc/{before}").exists()
    # The new process has seen nothing of the old one.
    assert bench.call("run", "result = 42").measurement.signals["right"]
    assert hung == "1" or not Path(f"/proc/{hung}").exists()


def test_result_that_arrived_before_a_late_poll_counts(make_bench: MakeBench) -> None:
    now = [0.0]
    bench = make_bench("length", clock=lambda: now[0])
    bench.submit("length", "abc", wanted=3)
    (slot,) = bench.host._pool
    assert [slot.process.channel] == wait_readable(slot.process.channel)
    now[0] = 1000.0
    (outcome,) = bench.host.poll(0.0)
    assert (RIGHT, False) == (outcome.measurement.signals, outcome.is_timeout)


def wait_readable(channel: Any) -> list[Any]:
    import select

    return select.select([channel], [], [], 10)[0]


def test_crash_is_retried_then_a_fault_naming_the_signal(make_bench: MakeBench) -> None:
    outcome = make_bench("segfault").call("segfault", "x")
    assert ("verifier_fault", 2) == (outcome.cause, outcome.num_tries)
    assert "SIGSEGV" in outcome.detail


def test_exit_by_the_answer_is_no_verdict_and_the_next_one_is_right(make_bench: MakeBench) -> None:
    bench = make_bench("run")
    assert "exited with 5" in bench.call("run", "import os; os._exit(5)").detail
    assert "SystemExit" in bench.call("run", "raise SystemExit(0)").detail
    assert bench.call("run", "result = 42").measurement.signals["right"]


def test_process_is_replaced_after_its_share_of_jobs(make_bench: MakeBench) -> None:
    bench = make_bench("length", limits=Limits(max_jobs=2))
    (first,) = bench.host.pids
    for _ in range(2):
        assert RIGHT == bench.call("length", "abc", wanted=3).measurement.signals
    assert (first,) != bench.host.pids
    assert RIGHT == bench.call("length", "abc", wanted=3).measurement.signals


def test_process_that_grew_is_replaced(make_bench: MakeBench) -> None:
    bench = make_bench("run", limits=Limits(max_growth_bytes=32 << 20))
    (first,) = bench.host.pids
    bench.call("run", "x = bytearray(64 << 20)\nresult = 42")
    assert (first,) != bench.host.pids


def test_process_with_a_thread_left_behind_is_replaced(make_bench: MakeBench) -> None:
    bench = make_bench("run")
    (first,) = bench.host.pids
    bench.call("run", "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\nresult = 42")
    assert (first,) != bench.host.pids


def test_fork_keeps_what_an_answer_patched_from_the_next(make_bench: MakeBench) -> None:
    bench = make_bench("run_forked", mode="fork")
    patch = "import assay_hazard\nassay_hazard.execute = lambda answer: assay_hazard.Judged(right=True, score=1.0)"
    bench.call("run_forked", patch)
    assert not bench.call("run_forked", "result = 0").measurement.signals["right"]


def test_fork_that_hangs_costs_its_zygote_nothing(make_bench: MakeBench) -> None:
    bench = make_bench("run_forked", mode="fork")
    pids = bench.host.pids
    assert "verifier_timeout" == bench.call("run_forked", "while True: pass", timeout_s=0.2).cause
    assert "exited with 5" in bench.call("run_forked", "import os; os._exit(5)").detail
    assert bench.call("run_forked", "result = 42").measurement.signals["right"]
    assert pids == bench.host.pids


def test_fork_that_writes_garbage_to_its_pipe_is_no_verdict(make_bench: MakeBench) -> None:
    garbage = (
        "import os\nfor fd in range(3, 64):\n  try: os.write(fd, b'\\x00\\x00\\x00\\x04junk')\n  except OSError: pass"
    )
    bench = make_bench("run_forked", mode="fork")
    assert "verifier_fault" == bench.call("run_forked", garbage).cause
    assert bench.call("run_forked", "result = 42").measurement.signals["right"]


def test_garbage_on_the_channel_is_no_verdict(make_bench: MakeBench) -> None:
    garbage = "import os\nfor fd in range(3, 64):\n  try: os.write(fd, b'\\xff' * 64)\n  except OSError: pass"
    bench = make_bench("run")
    assert "verifier_fault" == bench.call("run", garbage).cause
    assert bench.call("run", "result = 42").measurement.signals["right"]


def test_printing_does_not_touch_the_channel(make_bench: MakeBench) -> None:
    noise = "import os, sys\nprint('x' * 100_000)\nos.write(1, b'y' * 1000)\nsys.stdout.close()\nresult = 42"
    bench = make_bench("run")
    for _ in range(2):
        bench.call("run", noise)
    assert bench.call("run", "result = 42").measurement.signals["right"]


def test_judges_share_a_process(make_bench: MakeBench) -> None:
    bench = make_bench("sleep", mode="async", num_concurrent=8)
    for _ in range(8):
        bench.submit("sleep", "0.2")
    assert (8, 1) == (bench.host.num_running, len(bench.host.pids))
    assert 8 == len(bench.collect(8))


def test_judge_that_raises_is_a_judge_error(make_bench: MakeBench) -> None:
    assert "judge_error" == make_bench("sleep", mode="async").call("sleep", "raise").cause


def test_judge_that_is_late_leaves_the_others_alone(make_bench: MakeBench) -> None:
    bench = make_bench("sleep", mode="async")
    pids = bench.host.pids
    late, good = bench.submit("sleep", "60", timeout_s=0.2), bench.submit("sleep", "0.4")
    found = bench.collect(2)
    assert ("verifier_timeout", RIGHT) == (found[late].cause, found[good].measurement.signals)
    assert pids == bench.host.pids


@pytest.mark.slow
@pytest.mark.parametrize(("guilty", "cause"), [("die", "judge_error"), ("block", "verifier_timeout")])
def test_judge_that_takes_the_process_with_it_is_blamed_alone(make_bench: MakeBench, guilty: str, cause: str) -> None:
    bench = make_bench("sleep", mode="async")
    good = [bench.submit("sleep", "0.3", timeout_s=30.0) for _ in range(2)]
    bad = bench.submit("sleep", guilty, timeout_s=0.5)
    found = bench.collect(3)
    assert cause == found[bad].cause
    assert [RIGHT, RIGHT] == [found[job_id].measurement.signals for job_id in good]


def test_plugin_that_does_not_load_is_an_error_naming_it(plugin_folder: str) -> None:
    with VerifierHost(paths=[plugin_folder]) as host:
        host.start([VerifierRef("assay-hazard:1.0.0:assay_hazard:absent")])
        with pytest.raises(PluginError, match=r"absent.*assay-hazard:1\.0\.0"):
            host.wait_started()


def test_worker_with_another_version_is_refused(plugin_folder: str) -> None:
    with VerifierHost(paths=[plugin_folder]) as host:
        host.start([VerifierRef("assay-hazard:2.0.0:assay_hazard:length")])
        with pytest.raises(PluginError, match="must have assay-hazard 2"):
            host.wait_started()


def test_job_for_a_leaf_that_was_not_started_is_refused(make_bench: MakeBench) -> None:
    with pytest.raises(PluginError, match="that was started"):
        make_bench("length").submit("run", "x")


def test_process_killed_from_outside_costs_no_job_a_try(make_bench: MakeBench) -> None:
    bench = make_bench("run")
    (guard,) = bench.host.pids
    job_id = bench.submit("run", "import time\ntime.sleep(0.1)\nresult = 42")
    os.kill(guard, signal.SIGKILL)
    outcome = bench.collect(1)[job_id]
    assert (True, 1) == (outcome.measurement.signals["right"], outcome.num_tries)


def test_process_killed_from_outside_each_time_is_an_infrastructure_failure(make_bench: MakeBench) -> None:
    bench = make_bench("run")
    job_id = bench.submit("run", "import time\ntime.sleep(20)")
    found: dict[int, Any] = {}
    while not found:
        for pid in bench.host.pids:
            if bench.host.num_running:
                os.kill(pid, signal.SIGKILL)
        found = bench.collect(1, within_s=0.05)
    assert "infra" == found[job_id].cause


def test_parser_runs_where_it_can_be_killed(make_bench: MakeBench) -> None:
    bench = make_bench("after_hash")
    assert {"answer": " 7"} == bench.call("after_hash", "so #### 7").measurement.signals
    assert {"answer": None} == bench.call("after_hash", "so 7").measurement.signals
    assert bench.call("after_hash", "hang", timeout_s=0.2).is_timeout


def test_leaf_started_later_joins_the_others(make_bench: MakeBench) -> None:
    bench = make_bench("length")
    assert RIGHT == bench.call("length", "abc", wanted=3).measurement.signals
    bench.host.start([VerifierRef("assay-hazard:1.0.0:assay_hazard:run")])
    assert bench.call("run", "result = 42").measurement.signals["right"]
    assert 1 == len(bench.host.pids)


@pytest.mark.parametrize("mode", ["worker", "fork"])
def test_late_import_is_made_before_the_first_call(make_bench: MakeBench, mode: str) -> None:
    assert "colorsys True" == make_bench("lazy", mode=mode).call("lazy", "x").measurement.signals["text"]


def test_worker_finds_what_its_host_found_ahead_of_the_library(
    plugin_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As PYTHONPATH does it. Of what is not told to a worker, nothing is found.
    monkeypatch.syspath_prepend(plugin_folder)
    ref = "assay-hazard:1.0.0:assay_hazard:length"
    with VerifierHost() as host:
        host.start([VerifierRef(ref)])
        assert {ref} == set(host.wait_started())
        host.submit(Job(1, ref, {"wanted": 3}, "abc"))
        assert RIGHT == getattr(host.poll(30.0)[0].measurement, "signals", None)
    assert () == plugin_paths([f"assay-rl:{assay.__version__}:assay.runtime.verifier.text:text_equal", "absent:1:x:y"])


def test_half_a_character_is_lost_and_the_host_goes_on(make_bench: MakeBench) -> None:
    bench = make_bench("length")
    assert ("infra", None) == ((lost := bench.call("length", "\ud800", wanted=1)).cause, lost.measurement)
    assert "whole characters" in lost.detail
    assert RIGHT == bench.call("length", "abc", wanted=3).measurement.signals
