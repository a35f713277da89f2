"""What people say about a run's verifiers, in `summary.json` and in the section "People" of `report.html`."""

import html
import json
from collections.abc import Mapping
from typing import Any

from assay.runtime.regrade.stored import StoredRun
from assay.runtime.review.report import report_agreement
from assay.runtime.review.store import FILE, ReviewStore
from assay.runtime.run.folder import RunFolder

_NOTE = (
    "Marks of `assay review`, set against what was measured. The share is an estimate for the run, weighted by domain "
    "and outcome; episodes that were picked because verifiers disagree count in raw figures alone."
)


def people_summary(folder: RunFolder) -> dict[str, Any] | None:
    """Return what marks of a run say; None where nobody has marked anything.

    Raises:
        StoreError: the marks or the ledger cannot be read.
    """
    if not (folder.path / FILE).exists():
        return None
    with ReviewStore(folder.path) as store:
        marks = store.marks(with_passed=True)
    if not marks:
        return None
    with StoredRun(folder) as stored:
        return report_agreement(stored, marks).to_json()


def refresh(folder: RunFolder) -> None:
    """Write marks into the summary and the report of a run that is over."""
    from assay.runtime.observe.reading import Reading
    from assay.runtime.observe.report import write_report
    from assay.runtime.observe.summary import write_summary
    from assay.runtime.run.plan import read_plan

    people = people_summary(folder)
    if people is None or not folder.summary.exists():
        return
    summary = {**json.loads(folder.summary.read_bytes()), "people": people}
    write_summary(folder.summary, summary)
    with Reading(folder.ledger) as reading:
        write_report(folder.report, read_plan(folder.path), reading, summary)


def people_section(people: Mapping[str, Any]) -> str:
    """Return the section as HTML."""
    who = ", ".join(f"{html.escape(name)} {count}" for name, count in people["marks"].items())
    heads = ("domain", "compared with", "marks", "agree", "share in the run", "kappa", "too strict", "too lenient", "")
    rows = []
    for one in people["comparisons"]:
        found = one["agreement"]
        low, high = found["interval"]
        share = "-" if found["share"] is None else f"{found['share']:.1%} ({low:.0%} to {high:.0%})"
        kappa = "-" if found["kappa"] is None else f"{found['kappa']:.2f}"
        raw = "-" if found["raw"] is None else f"{found['raw']:.1%}"
        says = "<strong>agrees badly with people</strong>" if one["says"] == "bad" else html.escape(one["says"])
        cells = (str(found["marks"]), raw, share, kappa, str(found["only_mark"]), str(found["only_other"]))
        rows.append((html.escape(one["entry"]), html.escape(one["other"]), *cells, says))
    between = people["between"]
    pairs = f"; reviewers agree in {between['raw']:.1%} of {between['marks']} pairs" if between["marks"] else ""
    head = "".join(f"<th>{cell}</th>" for cell in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<h2>People</h2><p class="faint">{html.escape(_NOTE)}</p><p>Marks: {who}{pairs}.</p>'
        f'<div class="wide"><table class="numbers names"><tr>{head}</tr>{body}</table></div>'
    )
