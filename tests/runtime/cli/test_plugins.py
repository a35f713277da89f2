"""`assay plugins`: owners, offers, failures and clashes."""

import json
from collections.abc import Callable
from typing import Any

from assay.core.hook import hookimpl
from assay.core.leaf import Verifier
from assay.core.registry import PluginFailure, Registry
from assay.runtime.verifier.text import text_equal

Run = Callable[..., Any]


class Thief:
    """Offers a name that Assay itself offers."""

    @hookimpl
    def assay_verifiers(self) -> list[Verifier]:
        return [text_equal]


def test_every_package_is_listed_with_what_it_offers(run: Run) -> None:
    ran = run("plugins")
    assert (0, "") == (ran.status, ran.err)
    assert "assay-demo 1.0" in ran.out
    assert "  assay_verifiers  demo.equal, demo.boxed" in ran.out
    assert ran.out.endswith("0 failures, 0 clashes\n")


def test_failure_and_clash_are_shown_with_their_owners(run: Run, registry: Registry) -> None:
    registry.failures.append(PluginFailure("assay-broken", "2.0", "assay_broken", "ImportError: no", "Traceback\n  x"))
    registry.add(Thief(), "assay-thief", "1.0")
    out = run("plugins").out
    assert "error[PL001]: assay-broken 2.0: assay_broken must load, got ImportError: no" in out
    assert "error[PL001]: verifier `text.equal` must be offered once, got assay-rl 0.1.0 and assay-thief 1.0" in out
    assert "Traceback" not in out
    assert "Traceback" in run("plugins", "--verbose").out


def test_json_says_the_same(run: Run, registry: Registry) -> None:
    registry.failures.append(PluginFailure("assay-broken", "2.0", "assay_broken", "ImportError: no"))
    registry.add(Thief(), "assay-thief", "1.0")
    found = json.loads(run("plugins", "--format", "json").out)
    assert ["assay-rl", "assay-demo", "assay-thief"] == [one["dist"] for one in found["packages"]]
    assert ["assay-broken"] == [one["dist"] for one in found["failures"]]
    assert [("verifier", "text.equal")] == [(one["kind"], one["name"]) for one in found["clashes"]]
