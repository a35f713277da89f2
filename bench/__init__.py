"""Benchmarks: each module measures one thing and gives ratios within one run. `make bench`, `make bench ONLY=name`."""
