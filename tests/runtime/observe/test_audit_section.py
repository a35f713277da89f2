"""What the report says of an audit."""

from typing import Any

import pytest

from assay.runtime.audit.finding import NAMES
from assay.runtime.observe.audit_section import LOOK_AT, audit_line, audit_section

FIGURES: dict[str, Any] = {
    "groups": 256, "episodes": 2048, "window_groups": 256, "trend_groups": 256, "pass_rate": 0.5,
    "groups_without_spread": 0.25, "tokens": 40.0, "tokens_rise": 12.0, "length": 0.75, "length_groups": 99,
    "same_siblings": None,
}  # fmt: skip
TERM = {
    "name": "outcome.right", "mean": 0.5, "share": 0.9, "run_share": None, "rise": 0.25, "error": 0.01, "length": None
}  # fmt: skip


def entry(*findings: dict[str, Any], groups: int = 256) -> dict[str, Any]:
    figures = {**FIGURES, "groups": groups}
    return {
        "figures": figures,
        "terms": [TERM] if groups else [],
        "findings": list(findings),
        "canaries": {"rows": 2, "graded": 6, "solved": 1} if findings else {"rows": 0, "graded": 0, "solved": 0},
    }


def finding(name: str, **changes: Any) -> dict[str, Any]:
    values = {"subject": "", "text": "it is so", "figures": {}, "episode": 7, "answer": None, "from_step": 3}
    return {"name": name, **values, "to_step": None, **changes}


def test_every_finding_says_what_to_look_at() -> None:
    assert set(NAMES) == set(LOOK_AT)


def test_finding_stands_with_its_episode_and_answer_and_nothing_of_it_is_markup() -> None:
    one = finding("canary", answer="<b>4</b>", to_step=9)
    page = audit_section({"math": entry(one)}, "runs/x&y")
    assert "<code>assay explain runs/x&amp;y 7</code>" in page
    assert "it answered <code>&lt;b&gt;4&lt;/b&gt;</code>" in page
    assert "<td>3 to 9</td>" in page
    assert "<td>1 of 2</td>" in page


@pytest.mark.parametrize(("answer", "words"), [("", "it answered with nothing"), (None, "</code></td>")])
def test_empty_answer_is_told_from_none(answer: str | None, words: str) -> None:
    assert words in audit_section({"math": entry(finding("length", answer=answer))}, "runs/x")


def test_terms_stand_with_their_shares_and_rises() -> None:
    page = audit_section({"math": entry()}, "runs/x")
    assert "No finding in any domain." in page
    cells = "".join(
        f"<td>{cell}</td>" for cell in ("math", "outcome.right", "0.500", "+0.250 ± 0.010", "90%", "-", "-")
    )
    assert f"<tr>{cells}</tr>" in page


def test_domain_that_was_not_played_has_no_row() -> None:
    assert "<td>docs</td>" not in audit_section({"math": entry(), "docs": entry(groups=0)}, "runs/x")


def test_line_names_domains_with_findings_once() -> None:
    audit = {"math": entry(finding("length"), finding("length"), finding("floor")), "docs": entry()}
    assert "audit: math length floor" == audit_line(audit)
    assert "" == audit_line({"docs": entry()})
    assert audit_line({f"d{number}": entry(finding("floor")) for number in range(10)}).endswith("d7 floor and 2 more")
