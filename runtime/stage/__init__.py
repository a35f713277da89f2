"""The processes of a run, one module each: source, rollout, verify, update.

`python -m assay.runtime.stage <role> <name> <run folder>` starts one. A stage imports what its role needs and nothing
else: torch and Megatron in update, torch in rollout, plugins where they run.
"""
