"""Executes a plan: coordinator, stages, engine, trainer, store, launch and command line."""

if __name__ != "assay.runtime":
    raise ImportError("import assay.runtime, not runtime")
