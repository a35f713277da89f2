"""Trackers: what they are told, the process each has, and those that Assay brings."""

from assay.core.leaf import Factory

TRACKERS = (Factory("jsonl", "assay.runtime.tracker.jsonl:JsonlTracker", "Everything as lines of one JSON file."),)
