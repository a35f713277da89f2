"""People: what they are asked, what they say, and what that says about verifiers."""
