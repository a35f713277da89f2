"""The plan for eyes: as a page of text, and as a Mermaid diagram."""

from collections.abc import Sequence

from assay.core.quantity import format_duration
from assay.dsl.expr.interval import format_number
from assay.dsl.plan import Edge, Plan, PlanEntry, PlanStage, StageNode

# More entries than this are summed up; all of them are in the JSON.
MAX_ROWS = 24


def plan_text(plan: Plan) -> str:
    """Return the plan as a page that a person reads from top to bottom."""
    parts = [
        f"{plan.name}: {len(plan.entries)} domain{'s' * (len(plan.entries) != 1)}, plan {plan.digest[:12]}",
        "",
        "Mix (share of " + plan.balance.replace("_", " ") + ")",
        *_table([_entry_row(entry) for entry in plan.entries[:MAX_ROWS]], _ENTRY_HEAD, right=(1, 2, 4, 6)),
    ]
    if len(plan.entries) > MAX_ROWS:
        rest = plan.entries[MAX_ROWS:]
        parts.append(f"  ... and {len(rest)} more with {sum(entry.share for entry in rest):.1%} of the share")
    parts += ["", "Stages", *_stages(plan)]
    parts += ["", "Graph", *_graph(plan)]
    parts += ["", "Proved", *_proved(plan)]
    return "\n".join(parts)


def plan_mermaid(plan: Plan) -> str:
    """Return the graph as a Mermaid flowchart."""
    lines = ["flowchart LR"]
    for node in plan.nodes:
        detail = f"{node.workers} x {node.capacity // max(1, node.workers)}"
        if node.cost_s:
            detail += f", {format_duration(node.cost_s)}"
        lines.append(f'  {_id(node.name)}["{node.name}<br/>{detail}"]')
    for edge in plan.edges:
        arrow = "-.->" if edge.carries == "weight versions" else "-->"
        lines.append(f'  {_id(edge.source)} {arrow}|"{edge.carries} ≤ {edge.limit}"| {_id(edge.target)}')
    return "\n".join(lines)


_ENTRY_HEAD = ("entry", "share", "group", "reward", "margin", "grading", "cost", "domain")


def _entry_row(entry: PlanEntry) -> tuple[str, ...]:
    lo, hi = ("?" if end is None else format_number(end) for end in entry.reward)
    grading = entry.tier + ("" if entry.deterministic else ", not deterministic")
    return (
        entry.name,
        f"{entry.share:.1%}",
        f"{entry.group_size}",
        f"[{lo}, {hi}]",
        format_number(entry.margin),
        grading,
        format_duration(entry.cost_s),
        entry.identity + (f"  unlock: {entry.unlock}" if entry.unlock else ""),
    )


def _stages(plan: Plan) -> list[str]:
    rows = [
        (stage.name, stage.kind, f"until {stage.until}", _batch(stage), _shares(stage, plan)) for stage in plan.stages
    ]
    return _table(rows, ())


def _batch(stage: PlanStage) -> str:
    return f"{stage.batch} {'groups' if stage.kind == 'rl' else 'demonstrations'} a step"


def _shares(stage: PlanStage, plan: Plan) -> str:
    mix = {entry.name: entry.share for entry in plan.entries}
    if stage.share == mix:
        return ""
    return "shares " + ", ".join(f"{name} {share:.0%}" for name, share in stage.share.items())


def _graph(plan: Plan) -> list[str]:
    lines = []
    for node in plan.nodes:
        lines.append(f"  {node.name:<14}{_workers(node)}")
        lines += [f"  {'':<12}└─ {edge.carries}, at most {edge.limit}, to {edge.target}" for edge in _from(node, plan)]
    return lines


def _workers(node: StageNode) -> str:
    text = f"{node.workers} process{'es' * (node.workers != 1)}, {node.capacity} at once"
    if node.cost_s:
        text += f", about {format_duration(node.cost_s)} each"
    return text + (f", needs {', '.join(node.needs)}" if node.needs else "")


def _from(node: StageNode, plan: Plan) -> list[Edge]:
    return [edge for edge in plan.edges if edge.source == node.name]


def _proved(plan: Plan) -> list[str]:
    lowest = min((entry.margin for entry in plan.entries), default=0.0)
    return [
        f"  rewards are bounded; the smallest margin of outcome over penalties is {format_number(lowest)}",
        f"  {plan.deterministic_share:.0%} of the share is graded deterministically",
        f"  verifying one step takes about {format_duration(plan.verify_s_per_step)} of one worker",
    ]


def _table(rows: Sequence[tuple[str, ...]], head: tuple[str, ...], right: tuple[int, ...] = ()) -> list[str]:
    everything = [head, *rows] if head else list(rows)
    widths = [max(len(row[column]) for row in everything) for column in range(len(everything[0]))] if everything else []
    lines = []
    for row in everything:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def _id(name: str) -> str:
    return name.replace(".", "_")
