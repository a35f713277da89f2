"""The section "Audit" of `report.html`: per domain what its reward is made of, and findings in plain words."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

LOOK_AT = {
    "dominance": "the weights of the terms: what is trained is nearly one of them",
    "flat_outcome": "what the penalties reward instead of the task, and whether the task can be learnt at all",
    "length": "whether the longer (or shorter) answer deserves its reward, or the grader counts words",
    "turns": "whether more (or fewer) turns deserve their reward",
    "saturated": "a smaller share, harder tasks or levels: steps on it teach nothing",
    "floor": "easier tasks, demonstrations, or a grader that refuses what is right",
    "stuck_term": "its verifier: a term that never pays is often one that is never measured",
    "same_answer": "what this answer is paid for: tasks of one domain rarely have one answer",
    "same_siblings": "temperature and entropy: siblings that agree give no advantage",
    "canary": "how the grader was cheated: its answer and its waterfall show it",
}
"""What to look at, by finding."""

_NOTE = (
    "What rewards are paid for, over training episodes with a score. Shares and correlations are taken within groups, "
    "because that is all an advantage sees; figures are those of the last groups, rises those of a longer trend. An "
    "audit tells what happened: it proves no intent, and misses what it does not measure."
)


def audit_section(audit: Mapping[str, Any], run: str) -> str:
    """Return the section as HTML.

    Args:
        audit: As `summary.json` has it.
        run: How the run is named on the command line.
    """
    parts = ["<h2>Audit</h2>", f'<p class="faint">{html.escape(_NOTE)}</p>']
    findings = [_row(name, found, run) for name, entry in audit.items() for found in entry["findings"]]
    if findings:
        parts.append(_table(("domain", "finding", "steps", "what was found", "look at"), findings, "words"))
    else:
        parts.append("<p>No finding in any domain.</p>")
    played = {name: entry for name, entry in audit.items() if entry["figures"]["groups"] or entry["canaries"]["graded"]}
    if played:
        parts.append(_table(_DOMAIN_HEADS, [_domain(name, entry) for name, entry in played.items()], "numbers"))
    terms = [_term(name, term) for name, entry in played.items() for term in entry["terms"]]
    if terms:
        parts.append(_table(_TERM_HEADS, terms, "numbers names"))
    return "".join(parts)


def audit_line(audit: Mapping[str, Any]) -> str:
    """Return the findings of a run as one line; empty where there is none."""
    found = {name: list(dict.fromkeys(one["name"] for one in entry["findings"])) for name, entry in audit.items()}
    named = [f"{name} {' '.join(names)}" for name, names in found.items() if names]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return f"audit: {', '.join(named[:_NAMED])}{more}" if named else ""


# Domains that a line names.
_NAMED = 8
_DOMAIN_HEADS = (
    *("domain", "groups", "pass rate", "without spread", "tokens", "their rise", "reward with tokens"),
    *("equal siblings", "canaries solved"),
)
_TERM_HEADS = ("domain", "term", "mean", "its rise", "share within groups", "over the run", "with tokens")


def _domain(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    figures, canaries = entry["figures"], entry["canaries"]
    return (
        html.escape(name),
        str(figures["groups"]),
        _show(figures["pass_rate"], ".2f"),
        _show(figures["groups_without_spread"], ".0%"),
        _show(figures["tokens"], ".1f"),
        _show(figures["tokens_rise"], "+.1f"),
        _show(figures["length"], "+.2f"),
        _show(figures["same_siblings"], ".0%"),
        f"{canaries['solved']} of {canaries['rows']}" if canaries["graded"] else "-",
    )


def _term(name: str, term: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        html.escape(name),
        html.escape(term["name"]),
        _show(term["mean"], ".3f"),
        _rise(term),
        _show(term["share"], ".0%"),
        _show(term["run_share"], ".0%"),
        _show(term["length"], "+.2f"),
    )


def _row(entry: str, found: Mapping[str, Any], run: str) -> tuple[str, ...]:
    what = f"{found['name']} {found['subject']}".strip()
    steps = f"{found['from_step']} to {'the end' if found['to_step'] is None else found['to_step']}"
    look = html.escape(LOOK_AT[found["name"]])
    if found["episode"] >= 0:
        look += f"<br><code>assay explain {html.escape(run)} {found['episode']}</code>"
    if found["answer"]:
        look += f"<br>it answered <code>{html.escape(found['answer'])}</code>"
    elif found["answer"] is not None:
        look += "<br>it answered with nothing"
    return html.escape(entry), html.escape(what), steps, html.escape(found["text"]), look


def _rise(term: Mapping[str, Any]) -> str:
    if term["rise"] is None:
        return "-"
    return f"{term['rise']:+.3f} ± {term['error']:.3f}"


def _show(value: float | None, how: str) -> str:
    return "-" if value is None else f"{value:{how}}"


def _table(heads: Sequence[str], rows: Sequence[tuple[str, ...]], kind: str) -> str:
    """Return a table whose cells are HTML already."""
    head = "".join(f"<th>{cell}</th>" for cell in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table class="{kind}"><tr>{head}</tr>{body}</table></div>'
