"""Runs verifiers in locked-down processes and turns what they measured into verdicts."""
