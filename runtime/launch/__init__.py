"""Launchers: they start the processes of a run, keep them alive and leave none behind."""
