"""From source text with positions to a checked program and a plan."""

if __name__ != "assay.dsl":
    raise ImportError("import assay.dsl, not dsl")
