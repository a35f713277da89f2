"""Write the lists of sabotages into the page of evidence: `python -m tests.sabotage.page`."""

import tomllib
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "evidence" / "compiler.md"
BEGIN, END = "<!-- sabotages -->\n", "<!-- /sabotages -->"
LISTS = {
    "edits": "Edits have a price tag",
    "curriculum": "Curricula live",
    "deciding": "What decides: samplers, stage rules, schedulers, strategies, algorithms",
    "golden": "Graders are tried before they judge; packages, doctor, completion",
    "judge": "Judges",
    "review": "People",
    "audit": "The audit of rewards",
    "kit": "The conformance kit",
    "run_kinds": "Stores, engines, trainers, launchers, trackers, exporters, chat formats",
    "box": "Boxes for verifiers",
}


def rows(name: str) -> list[tuple[str, str]]:
    """Return what each sabotage of a list breaks, and the test that turns red."""
    items = tomllib.loads((HERE / f"{name}.toml").read_text())["sabotage"]
    return [(item["what"], item["test"]) for item in items]


def tables() -> str:
    """Return one table for each list that is there."""
    parts = []
    for name, title in LISTS.items():
        if (HERE / f"{name}.toml").exists():
            lines = [f"| {what} | `{test}` |".replace("\n", " ") for what, test in rows(name)]
            head = (
                f"### {title}\n\n`make sabotage ONLY={name}`\n\n| what is broken | test that turns red |\n|---|---|\n"
            )
            parts.append(head + "\n".join(lines) + "\n")
    return "\n".join(parts)


def main() -> None:
    """Replace what stands between the marks."""
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + tables() + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
