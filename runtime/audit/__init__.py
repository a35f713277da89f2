"""The reward audit: what the rewards of a run pay for, as statistics over the stream of its training verdicts."""
