"""Generators of reasoning-gym 0.1.25 without a domain, each with its reason.

A generator gets a domain where its right answers are known exactly and its tasks are equal in every process.
"""

EXCLUDED: dict[str, str] = {
    # There is no answer that must score 1, so that no golden case can try the grader.
    "boxnet": "no oracle answer; a plan for many arms that only its own simulator judges",
    "propositional_logic": "every tautology follows from every premise, so that one answer is right for all",
    "rubiks_cube": "no oracle answer; an example of a hundred turns, which only a simulator of the cube could judge",
    "rush_hour": "no oracle answer; one would have to be searched for on every board",
    # The package's scorer is wrong or runs the answer, and the answer has no form that text decides.
    "puzzle24": "0.2 s an entry, and `countdown` asks the same of other numbers",
    "polynomial_multiplication": "scorer runs the answer through sympy.parse_expr; tasks change with PYTHONHASHSEED",
    "intermediate_integration": "scorer runs the answer through sympy.parse_expr and takes a quarter of a second",
    # Tasks are not equal in every process, so that an index names no task.
    "isomorphic_strings": "tasks change with PYTHONHASHSEED",
    "knight_swap": "tasks change with PYTHONHASHSEED; a second to make one",
    "list_functions": "draws from the process's global random state",
    "ransom_note": "tasks change with PYTHONHASHSEED",
    "word_ladder": "tasks change with PYTHONHASHSEED",
    # The task does not have one right answer.
    "number_sequence": "a short sequence has many continuations",
    "acre": "induction from examples; other rules fit too",
    "arc_1d": "induction from examples; other rules fit too",
    "arc_agi": "induction from examples; other rules fit too",
    "rearc": "induction from examples; other rules fit too",
    "modulo_grid": "induction from examples; other rules fit too",
    "advanced_geometry": "rounded decimals: 3 places of an irrational number, compared with a tolerance",
    "polynomial_equations": "rounded decimals whose rule of rounding contradicts the oracle's",
    "decimal_arithmetic": "rounding to 12 digits is part of the task and not of the oracle",
    "self_reference": "counts solutions of sentences whose reading is open",
    "gsm_symbolic": "a word problem's oracle may be fractional where the text allows whole things only",
    "sentence_reordering": "other orders of the words are sentences too",
    "letter_jumble": "other words of the same letters fit; padded answers score 0.9999999999999998",
    "syllogism": "seven answers in ten are No; whether `all` says that there are some is left open",
    "composite": "a mixture of other generators, not one of its own",
    # The oracle is wrong, or the text has another reading.
    "aiw": "asks of people whom the text does not introduce; colleagues are counted by an open reading",
    "family_relationships": "calls a daughter-in-law a mother-in-law: the word for the wrong one of two people",
    "mahjong_puzzle": "the oracle says Pass where a random card makes Peng or Chi, and misses Chi among doubled cards",
    "rectangle_count": "a drawing of ten lines or more; nothing shows that it fits one count only",
    # What it costs, or carries, is out of proportion.
    "codeio": "made by running stored code; one in two asks for any of many inputs, the rest compares floats",
    "figlet_font": "drawings of many lines; some fonts draw several letters alike",
    "zebra_puzzles": "0.07 s an entry; prompts of a thousand characters; one name stands for a person and for a child",
}
