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
    "canary": "how the grader was cheated: the answer is shown, its waterfall is in `assay explain`",
}
"""What to look at, by finding."""

_NOTE = (
    "What rewards are paid for, over training episodes with a score. Shares and correlations are taken within groups, "
    "because that is all an advantage sees. An audit tells what happened; it proves no intent and misses what it does "
    "not measure."
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
    parts += [_entry(name, entry) for name, entry in audit.items()]
    return "".join(parts)


def _entry(name: str, entry: Mapping[str, Any]) -> str:
    figures, canaries = entry["figures"], entry["canaries"]
    if not figures["groups"] and not canaries["graded"]:
        return ""
    parts = [f"<h3>{html.escape(name)}</h3>"]
    if figures["groups"]:
        parts.append(f'<p class="faint">{html.escape(_sentence(figures))}</p>')
        rows = [
            (
                html.escape(term["name"]),
                _show(term["mean"], ".3f"),
                _show(term["share"], ".0%"),
                _show(term["run_share"], ".0%"),
                _rise(term),
                _show(term["length"], "+.2f"),
            )
            for term in entry["terms"]
        ]
        heads = ("term", "mean", "share within groups", "share over the run", "rise", "with tokens")
        parts.append(_table(heads, rows, "numbers"))
    if canaries["graded"]:
        parts.append(
            f'<p class="faint">Canaries: {canaries["solved"]} of {canaries["rows"]} rows solved '
            f"in {canaries['graded']} episodes.</p>"
        )
    return "".join(parts)


def _sentence(figures: Mapping[str, Any]) -> str:
    parts = [
        f"{figures['groups']} groups, the last {figures['window_groups']} in the table, "
        f"the last {figures['trend_groups']} in the rise",
        f"pass rate {_show(figures['pass_rate'], '.2f')}",
        f"{_show(figures['groups_without_spread'], '.0%')} of groups without spread",
        f"tokens {_show(figures['tokens'], '.1f')} ({_show(figures['tokens_rise'], '+.1f')})",
        f"reward with tokens {_show(figures['length'], '+.2f')} over {figures['length_groups']} groups",
        f"equal siblings {_show(figures['same_siblings'], '.0%')}",
    ]
    return "; ".join(parts) + "."


def _row(entry: str, found: Mapping[str, Any], run: str) -> tuple[str, ...]:
    what = f"{found['name']} {found['subject']}".strip()
    steps = f"{found['from_step']} to {'the end' if found['to_step'] is None else found['to_step']}"
    look = html.escape(LOOK_AT[found["name"]])
    if found["episode"] >= 0:
        look += f"<br><code>assay explain {html.escape(run)} {found['episode']}</code>"
    if found["answer"] is not None:
        look += f"<br>it answered <code>{html.escape(found['answer'])}</code>"
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
