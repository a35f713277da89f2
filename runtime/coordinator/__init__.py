"""One pure core that decides, and a loop and a ledger around it that talk and remember."""
