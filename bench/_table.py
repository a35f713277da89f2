"""Writes the stored figures into README: `python -m bench._table`."""

import json
from pathlib import Path

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
BEGIN, END = "<!-- measured -->\n", "<!-- /measured -->"

ROWS = (
    ("check_latency", "file_s", "`assay check FILE`", "{:.2f} s of CPU"),
    ("check_latency", "composed_s", "`assay check curriculum=quickstart`", "{:.2f} s of CPU"),
    ("check_latency", "hundred_domains_s", "`assay check` of 100 files", "{:.2f} s of CPU"),
    ("check_latency", "hundred_entries_s", "`assay check` of a curriculum of 100 entries", "{:.2f} s of CPU"),
    ("check_latency", "import_ms", "`import assay`", "{:.0f} ms of CPU"),
    ("reward_eval", "scalar_over_python", "compiled reward over the same reward by hand", "{:.2f} x"),
    ("reward_eval", "vector_per_s", "vectorised reward, one core", "{:,.0f} episodes/s"),
    ("first_update", "first_update_s", "`assay train` to its first update", "{:.1f} s"),
    ("coordinator", "items_per_cpu_s_1", "episodes through the coordinator, 1 message a frame", "{:,.0f} per CPU-s"),
    ("coordinator", "items_per_cpu_s_32", "the same, 32 messages a frame", "{:,.0f} per CPU-s"),
    ("engine", "tiny_groups_ratio", "engine over plain transformers, groups of 8, tiny policy", "{:.2f} x"),
    ("engine", "3m_batch16_ratio", "the same, 3M parameters, batch 16", "{:.2f} x"),
    ("engine", "24m_batch64_ratio", "the same, 24M parameters, batch 64", "{:.2f} x"),
    ("trainer", "tiny_policy_ratio", "policy step over plain transformers, tiny policy", "{:.2f} x"),
    ("trainer", "24m_policy_ratio", "the same, 24M parameters", "{:.2f} x"),
    ("verify", "worker_us", "one verification in a locked-down worker", "{:.0f} us"),
    ("weights", "publish_per_memcpy", "publishing weights over one memcpy", "{:.1f} x"),
    ("regrade", "reduce_episodes_per_s", "re-reducing stored episodes", "{:,.0f} per s"),
    ("regrade", "regrade_episodes_per_s", "re-grading them in a locked-down worker", "{:,.0f} per s"),
)  # fmt: skip


def table() -> str:
    """Return the table of the figures that are stored."""
    lines = ["| what | figure | bench | commit |", "|---|---|---|---|"]
    records = {path.stem: json.loads(path.read_text()) for path in (HERE / "results").glob("*.json")}
    for name, figure, what, shape in ROWS:
        record = records[name]
        lines.append(f"| {what} | {shape.format(record['figures'][figure])} | `{name}` | {record['commit']} |")
    record = records["check_latency"]
    machine = record["machine"]
    lines += ["", f"{machine['cores']} cores of an {machine['cpu']}, Python {machine['python']}, {record['date']}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Replace what stands between the marks."""
    text = README.read_text()
    before, rest = text.split(BEGIN)
    README.write_text(before + BEGIN + table() + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
