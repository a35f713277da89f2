"""Stored episodes under an edited domain: what each needs, and doing it without a rollout."""
