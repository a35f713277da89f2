r"""`choice(letters="ABCD")`: the last letter that a text chooses."""

import re

import assay

# What a policy puts around its letter. The word is left in its own case: `a` in running text is an article. Possessive
# repetition (`*+`) keeps the time linear: nothing is tried again with fewer blanks.
_FRAME = r"""(?x)
    \\boxed\{ \s*+ ({0}) \s*+ \}
  | \*\* \(? ({0}) \)? [.:]? \*\*
  | \( ({0}) \)
  | (?i:answer|choice|option) \s*+ (?i:is)? \s*+ :? \s*+ \(? ({0}) \b
  | ^ [ ]*+ ({0}) [ ]*+ [.)]? [ ]*+ $
"""
_MAX_LETTERS = 26


@assay.parser("choice", version=1)
def choice(text: str, letters: str = "ABCD") -> str | None:
    """The last choice of one of `letters`, which are capitals; None where the text chooses nothing."""
    if not letters.isascii() or not letters.isupper() or len(letters) > _MAX_LETTERS:
        raise ValueError(f"letters must be ASCII capitals, got {letters!r}")
    pattern = re.compile(_FRAME.replace("{0}", f"[{letters}]"), re.MULTILINE)
    found = None
    for match in pattern.finditer(text):
        found = match
    return None if found is None else next(letter for letter in found.groups() if letter is not None)
