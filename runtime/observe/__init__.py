"""What a run shows of itself: the live display, the summary, the report. All of it is read from the ledger."""
