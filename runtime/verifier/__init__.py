"""Built-in verifiers: exact comparisons that need no sandbox and no model.

Both sides go through one normaliser, so that a correct answer cannot fail for how it is spelt on one side only. An
answer that is absent (None, where the parser refused) or unreadable is scored as wrong; an *expected* value that cannot
be read is the domain's fault and raises, which leaves the episode unscored.
"""
