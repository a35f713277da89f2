"""The plan for eyes: as a page of text, and as a Mermaid diagram."""

import textwrap
from collections.abc import Sequence

from assay.core.quantity import format_duration
from assay.dsl.expr.interval import format_number
from assay.dsl.plan import Edge, Plan, PlanEntry, PlanStage, StageNode

# A longer mix is folded: entries that are equal but for their name stand in one row.
MAX_ROWS = 12
LEAST_WIDTH = 60


def plan_text(plan: Plan, width: int = 100) -> str:
    """Return the plan as a page that a person reads from top to bottom.

    Args:
        plan: To show.
        width: Columns of the page, at least `LEAST_WIDTH`; what has no blank to break at may be longer.
    """
    width = max(width, LEAST_WIDTH)
    count = f"{len(plan.entries)} {'entry' if len(plan.entries) == 1 else 'entries'}"
    domains = len({entry.digest for entry in plan.entries})
    count += "" if domains == len(plan.entries) else f" of {domains} domain{'s' * (domains != 1)}"
    parts = [
        f"{plan.name}: {count}, plan {plan.digest[:12]}",
        "",
        f"Mix (share of {plan.balance.replace('_', ' ')})",
        *(_mix(plan) if len(plan.entries) <= MAX_ROWS else _folded_mix(plan, width)),
    ]
    rules = [f"admit {plan.admit}"] if plan.admit else []
    rules += [f"sampler {plan.sampler}"] if plan.sampler else []
    rules += ["advantages are normalised over each domain"] if plan.advantage == "per_domain" else []
    parts += ["", "Rules", *(f"  {rule}" for rule in rules)] if rules else []
    parts += ["", "Stages", *_stages(plan, width)]
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
_FOLDED_HEAD = ("group", "reward", "margin", "grading")


def _mix(plan: Plan) -> list[str]:
    rows = [
        (entry.name, f"{entry.share:.1%}", *_facts(entry), "  ".join([entry.identity, *_extras(entry)]))
        for entry in plan.entries
    ]
    return _table(rows, _ENTRY_HEAD, right=(1, 2, 4, 6))


def _folded_mix(plan: Plan, width: int) -> list[str]:
    """Return what all entries share, then one row per share and facts, the largest first, with the entries in it."""
    facts = {entry.name: _facts(entry)[:-1] for entry in plan.entries}
    varied = [index for index in range(len(_FOLDED_HEAD)) if len({fact[index] for fact in facts.values()}) > 1]
    first = facts[plan.entries[0].name]
    common = [f"{name} {first[index]}" for index, name in enumerate(_FOLDED_HEAD) if index not in varied]
    costs = sorted({entry.cost_s for entry in plan.entries})
    common.append("cost " + " to ".join(format_duration(cost) for cost in costs[:: max(1, len(costs) - 1)]))
    prefix = _common_prefix([entry.identity for entry in plan.entries])
    alike: dict[tuple[str, ...], list[PlanEntry]] = {}
    for entry in sorted(plan.entries, key=lambda entry: -entry.share):
        key = (f"{entry.share:.2%}", *(facts[entry.name][index] for index in varied))
        alike.setdefault(key, []).append(entry)
    of = f"domain {prefix}" if prefix == plan.entries[0].identity else f"domains {prefix}*"
    lines = _wrapped(f"each: {', '.join(common)}; {of}", width, 2, 8)
    head = ("share", "entries", "each", *(_FOLDED_HEAD[index] for index in varied))
    rows = [
        (f"{sum(entry.share for entry in entries):.1%}", f"{len(entries)} x", *key) for key, entries in alike.items()
    ]
    table = _table([*rows, ("100.0%", f"{len(plan.entries)}", *[""] * (len(head) - 2))], head, right=(0, 1, 2))
    lines.append(table[0])
    for line, entries in zip(table[1:-1], alike.values(), strict=True):
        names = [_label(entry, prefix) for entry in entries]
        # A short list stands behind its row, a long one below it.
        if len(line) + 2 + len(", ".join(names)) <= width:
            lines.append(f"{line}  {', '.join(names)}")
        else:
            lines += [line, *_grid(names, width, 6)]
    lines.append(table[-1])
    extras = [f"{entry.name}: {', '.join(_extras(entry))}" for entry in plan.entries if _extras(entry)]
    return [*lines, *(["", "Levels and rules of entries", *_grid(extras, width, 2)] if extras else [])]


def _label(entry: PlanEntry, prefix: str) -> str:
    """Return the name of an entry, and its domain where the name does not say it."""
    domain = entry.identity.removeprefix(prefix).partition("@")[0]
    return entry.name if entry.name.startswith(domain) else f"{entry.name} = {domain}"


def _grid(cells: Sequence[str], width: int, indent: int) -> list[str]:
    """Return cells in as many columns as fit, read from top to bottom as `ls` does."""

    def split(height: int) -> tuple[list[Sequence[str]], list[int]]:
        columns = [cells[start : start + height] for start in range(0, len(cells), height)]
        return columns, [max(map(len, column)) for column in columns]

    heights = range(1, len(cells) + 1)
    height = next((h for h in heights if indent + sum(w + 2 for w in split(h)[1]) - 2 <= width), len(cells))
    columns, widths = split(height)
    rows = [[column[row] for column in columns if row < len(column)] for row in range(height)]
    lines = ["  ".join(cell.ljust(wide) for cell, wide in zip(row, widths, strict=False)) for row in rows]
    return [" " * indent + line.rstrip() for line in lines]


def _common_prefix(texts: Sequence[str]) -> str:
    """Return what all identities begin with, up to a `/` or a dot; the whole where they are equal."""
    low, high = min(texts), max(texts)
    if low == high:
        return low
    length = next((index for index, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), 0)
    return low[: max(low.rfind("/", 0, length), low.rfind(".", 0, length)) + 1]


def _facts(entry: PlanEntry) -> tuple[str, ...]:
    lo, hi = ("?" if end is None else format_number(end) for end in entry.reward)
    grading = entry.tier + ("" if entry.deterministic else ", not deterministic")
    return (
        f"{entry.group_size}",
        f"[{lo}, {hi}]",
        format_number(entry.margin),
        grading,
        format_duration(entry.cost_s),
    )


def _extras(entry: PlanEntry) -> list[str]:
    levels = [f"{name} {_climb(values)}" for name, values in entry.levels.items()]
    unlock = [f"unlock: {entry.unlock}"] if entry.unlock else []
    return [*levels, *unlock, *([f"sampler: {entry.sampler}"] if entry.sampler else [])]


def _climb(values: Sequence[object]) -> str:
    return " -> ".join(str(value) for value in values) if isinstance(values, list) else str(values)


def _wrapped(text: str, width: int, first: int, rest: int) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=" " * first, subsequent_indent=" " * rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _stages(plan: Plan, width: int) -> list[str]:
    rows = [(stage.name, stage.kind, f"until {stage.until}", _batch(stage)) for stage in plan.stages]
    lines = []
    for stage, line in zip(plan.stages, _table(rows, ()), strict=True):
        lines += [line, *_wrapped(_shares(stage, plan), width, 8, 8)]
    return lines


def _batch(stage: PlanStage) -> str:
    return f"{stage.batch} {'groups' if stage.kind == 'rl' else 'demonstrations'} a step"


def _shares(stage: PlanStage, plan: Plan) -> str:
    mix = {entry.name: entry.share for entry in plan.entries}
    if stage.share == mix:
        return ""
    return "shares " + ", ".join(f"{name} {share:.1%}" for name, share in stage.share.items() if share > 0)


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
