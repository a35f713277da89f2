"""Runs the coordinator's real core on a virtual clock."""
