"""CT001 and DT001 of a curriculum: what `require:` allows, against what its domains would cost."""

import math
import operator
from collections.abc import Iterator, Mapping, Sequence

from assay.dsl.compile import Compiled
from assay.dsl.expr.interval import format_number
from assay.dsl.mix import Budget
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Span

_HOLDS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "==": operator.eq}


def check_budgets(
    budgets: Sequence[Budget],
    domains: Mapping[str, tuple[float, Compiled]],
    spans: Mapping[str, Span],
) -> Iterator[Finding]:
    """Check every budget against the domains of the mix.

    Args:
        budgets: As written.
        domains: Share and compiled domain by entry.
        spans: Place of each budget.
    """
    for budget in budgets:
        for message, hint in _broken(budget, domains):
            code = "DT001" if budget.name.startswith("deterministic") else "CT001"
            yield finding(code, spans[budget.name], message, hint, f"require.{budget.name}")


def _broken(budget: Budget, domains: Mapping[str, tuple[float, Compiled]]) -> Iterator[tuple[str, str]]:
    good = {entry: (share, item.facts) for entry, (share, item) in domains.items() if item.facts is not None}
    sign, value, words = budget.sign, budget.value, budget.words
    limit = f"{sign} {format_number(value)}"
    match budget.name:
        case "tier":
            for entry, (_, facts) in good.items():
                if facts.tier not in words:
                    yield f"`{entry}` is graded by tier {facts.tier}, allowed are {', '.join(words)}", ""
        case "verify_cost":
            for entry, (_, facts) in good.items():
                if not _HOLDS[sign](facts.cost_s, value):
                    yield f"verifying `{entry}` takes about {facts.cost_s:.3g} s an episode, allowed is {limit} s", ""
        case "judge_cost":
            for entry, (_, facts) in good.items():
                if facts.price_usd is None:
                    hint = "state it: @assay.verifier(..., price='0.01 USD')"
                    yield f"a judge of `{entry}` states no price, allowed is {limit} USD", hint
                elif not _HOLDS[sign](facts.price_usd, value):
                    yield (
                        f"judging `{entry}` costs about {facts.price_usd:.3g} USD an episode, allowed is {limit} USD",
                        "",
                    )
        case "deterministic_share":
            share = math.fsum(share for share, facts in good.values() if facts.deterministic)
            if not _HOLDS[sign](share, value):
                others = ", ".join(entry for entry, (_, facts) in good.items() if not facts.deterministic)
                yield f"the deterministic share must be {limit}, got {share:.3g}", f"not deterministic: {others}"
        case "deterministic" if value:
            for entry, (_, facts) in good.items():
                if not facts.deterministic:
                    yield f"`{entry}` is graded by a verifier that is not deterministic", ""
                for model in facts.unpinned_judges:
                    yield f"the judge of `{entry}` must be pinned, got {model!r}", "name a revision: model@revision"
