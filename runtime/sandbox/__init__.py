"""Sandbox backends that Assay brings itself; isolating ones are plugins."""
