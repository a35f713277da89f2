"""From a command line to a checked configuration: groups, overrides, sweeps, and where each value came from."""
