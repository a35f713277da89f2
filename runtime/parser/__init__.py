"""Built-in answer parsers: from the final text to the answer, or to None where there is none.

What the text does not hold is a refusal (`trace.parsed` is false) and never an exception: the policy writes the text,
so failing to parse is scored. All run in time linear in the text.
"""
