"""Configuration groups, read as data."""

if __name__ != "assay.conf":
    raise ImportError("import assay.conf, not conf")
