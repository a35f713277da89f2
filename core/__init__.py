"""What everything is made of: tasks, episodes, signals, verdicts, messages, errors, hooks and the registry."""

if __name__ != "assay.core":
    raise ImportError("import assay.core, not core")
