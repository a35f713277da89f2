"""Edition 1 of the language: the keys of a domain file and of a curriculum file."""

from assay.dsl.schema import Shape

EDITION = 1

# Names that a term, gate or verifier may not take.
RESERVED_TERMS = frozenset({"when", "if", "success"})

_NUMBER = Shape("number")
_TERMS = Shape("map", item=Shape("expr", "number", doc="A term: an expression that gives a number."))
_ROWS = Shape("map", item=Shape("value"))

DOMAIN = Shape(
    "keys",
    doc="A domain: a declared family of tasks, how an episode runs, what verifies it and how the reward is built.",
    keys={
        "assay": Shape("int", required=True, doc="Language edition; 1."),
        "domain": Shape("name", required=True, doc="Id inside its package, such as `terminal.fix_bug`."),
        "version": Shape("int", required=True, lo=1, doc="Raised with every change that matters."),
        "summary": Shape("text", doc="One line for people."),
        "fields": Shape(
            "map",
            required=True,
            item=Shape(
                "kind", doc="bool, int, float, str, path, json, image, list[T], T | None, int[a,b], float[a,b]."
            ),
            doc="The type of one task.",
        ),
        "data": Shape(
            "keys",
            required=True,
            doc="Where tasks come from.",
            keys={
                "train": Shape("data", "source", item=_ROWS, required=True, doc="Tasks to train on."),
                "eval": Shape("data", "source", item=_ROWS, doc="Held-out tasks."),
                "demos": Shape("data", "source", item=_ROWS, doc="Tasks with a `completion` to imitate."),
                "canary": Shape("data", "source", item=_ROWS, doc="Tasks that no honest policy can solve."),
            },
        ),
        "system": Shape("text", doc="System message; {field} is replaced."),
        "prompt": Shape("text", required=True, doc="User message; {field} is replaced."),
        "params": Shape("map", item=_NUMBER, doc="Named numbers for expressions, arguments and sweeps."),
        "answer": Shape("call", "parser", doc="Reads the answer from the final text."),
        "episode": Shape(
            "keys",
            doc="How an episode runs; omitted: one turn, no tools.",
            keys={
                "tools": Shape("list", item=Shape("name"), doc="Registered tools that the policy may call."),
                "max_turns": Shape("count", lo=1, doc="Most completions of one episode."),
                "max_tokens": Shape("count", lo=1, doc="Most sampled tokens of one episode."),
            },
        ),
        "sandbox": Shape(
            "keys",
            doc="The box of the episode and of grading.",
            keys={
                "image": Shape("text", required=True, doc="Name of the image."),
                "net": Shape("choice", choices=("none", "full"), doc="Network inside; default none."),
                "cpu": Shape("number", lo=0, doc="Cores."),
                "memory": Shape("size", doc="Limit, such as 4GiB."),
                "time": Shape("duration", doc="Longest life, such as 20min."),
                "history": Shape("choice", choices=("sever", "keep"), doc="Whether later commits are hidden; sever."),
            },
        ),
        "verify": Shape(
            "map",
            required=True,
            item=Shape("call", "verifier", doc="A registered verifier; bare names are fields or params."),
            doc="What measures the episode.",
        ),
        "reward": Shape(
            "keys",
            required=True,
            doc="Gate, outcome, process, efficiency.",
            keys={
                "success": Shape("expr", "bool", doc="What pass rates count; default: outcome at its upper end."),
                "gate": Shape(
                    "list",
                    doc="Conditions in order; a closed gate pays `else` and skips what only lies below it.",
                    item=Shape(
                        "keys",
                        keys={
                            "name": Shape("name", doc="For overrides and reports."),
                            "if": Shape("expr", "bool", required=True, doc="Open while true."),
                            "else": Shape("param", required=True, doc="Paid when closed."),
                        },
                    ),
                ),
                "outcome": Shape("map", item=_TERMS.item, required=True, doc="What was achieved; named terms."),
                "process": Shape("map", item=_TERMS.item, doc="Penalties; every term must be <= 0."),
                "efficiency": Shape(
                    "map",
                    item=_TERMS.item,
                    keys={"when": Shape("expr", "bool", doc="Guards the whole section.")},
                    doc="Penalties that count only `when` the condition holds.",
                ),
            },
        ),
        "group": Shape(
            "keys",
            doc="Siblings of one task.",
            keys={
                "size": Shape("int", lo=1, doc="Episodes of one task; default 8."),
                "min_scored": Shape("int", lo=1, doc="Fewest scored ones; default max(2, size/2)."),
            },
        ),
        "allow": Shape(
            "list",
            doc="RW and SB findings that are meant.",
            item=Shape(
                "keys",
                keys={
                    "code": Shape("name", required=True, doc="Such as RW024."),
                    "at": Shape("text", required=True, doc="Such as `reward.gate.applies`."),
                    "because": Shape("text", required=True, doc="Why it is meant."),
                },
            ),
        ),
        "examples": Shape(
            "list",
            doc="Checked by `assay test`; signals that are not needed may be left out.",
            item=Shape(
                "keys",
                keys={
                    "name": Shape("text", doc="For the report."),
                    "given": Shape("map", "dotted", item=Shape("value"), required=True, doc="Signals and fields."),
                    "reward": Shape("bound", required=True, doc="A number, or a comparison such as `> 1.5`."),
                    "success": Shape("bool", doc="Whether the episode counts as solved."),
                },
            ),
        ),
        "calibration": Shape(
            "map",
            doc="Marked answers that a verification must agree with before a run; by name under `verify:`.",
            item=Shape(
                "keys",
                keys={
                    "data": Shape("data", "source", item=_ROWS, required=True, doc="Rows {task, answer, expect}."),
                    "agreement": Shape("bound", required=True, doc="Least share of rows that hold, as `>= 0.8`."),
                },
            ),
        ),
        "controls": Shape(
            "map",
            doc="Run end to end by `assay test --controls`.",
            item=Shape(
                "keys",
                keys={
                    "answer": Shape("text", required=True, doc="Text of the final reply; {field} is replaced."),
                    "reward": Shape("bound", required=True, doc="A number, or a comparison such as `> 1.5`."),
                },
            ),
        ),
    },
)

CURRICULUM = Shape(
    "keys",
    doc="A curriculum: which domains train together, in what shares and stages.",
    keys={
        "assay": Shape("int", required=True, doc="Language edition; 1."),
        "curriculum": Shape("name", required=True, doc="Its name."),
        "summary": Shape("text", doc="One line for people."),
        "mix": Shape(
            "map",
            required=True,
            doc="Entries by name.",
            item=Shape(
                "keys",
                keys={
                    "domain": Shape("text", required=True, doc="Id of a domain, or `<distribution>/<id>`."),
                    "share": Shape("number", doc="Weight, at least 0; normalised over the mix. Default 1."),
                    "unlock": Shape("expr", "bool", doc="Closed until true."),
                    "sampler": Shape("call", "sampler", doc="Overrides the curriculum's sampler."),
                },
            ),
        ),
        "balance": Shape(
            "choice",
            choices=("episodes", "trained_tokens", "compute_s"),
            doc="What `share` is a share of; default episodes.",
        ),
        "sampler": Shape("call", "sampler", doc="Picks tasks inside a domain."),
        "levels": Shape("map", item=Shape("map", item=Shape("value")), doc="Difficulty attributes of sources."),
        "admit": Shape("expr", "bool", doc="Groups for which it is false are refilled, not trained."),
        "advantage": Shape(
            "choice", choices=("per_group", "per_domain"), doc="Scope of normalisation; never across domains."
        ),
        "stages": Shape(
            "map",
            doc="Stages by name, in order.",
            item=Shape(
                "keys",
                keys={
                    "kind": Shape("choice", choices=("rl", "sft"), doc="`sft` imitates `data.demos`; default rl."),
                    "until": Shape(
                        "expr",
                        "stage_rule",
                        required=True,
                        doc="Ends the stage: a condition, a stage rule, or both; `forever` never does.",
                    ),
                    "share": Shape(
                        "map", item=Shape("number"), doc="Shares that replace those of the mix during this stage."
                    ),
                    "batch": Shape("int", lo=1, doc="Groups of one step; demonstrations of one step for sft."),
                    "lr": Shape("number", lo=0, doc="Peak learning rate; default the trainer's."),
                    "warmup": Shape("int", lo=0, doc="Steps of linear rise."),
                    "decay": Shape("number", lo=0, doc="Last part of the stage with linear fall, in [0, 1]."),
                    "reset_optimizer": Shape("bool", doc="Forget moments at the start of the stage; default true."),
                },
            ),
        ),
        "require": Shape(
            "keys",
            doc="Budgets that fail the compile.",
            keys={
                "tier": Shape("list", item=Shape("choice", choices=("auto", "judge", "human")), doc="Allowed tiers."),
                "judge_cost": Shape("bound", doc="Per episode, such as `<= 0.02 USD`."),
                "verify_cost": Shape("bound", doc="Seconds per episode, such as `<= 2 s`."),
                "deterministic_share": Shape("bound", doc="Share of episodes with a deterministic grade."),
                "deterministic": Shape("bool", doc="Every verifier must be deterministic."),
            },
        ),
    },
)
