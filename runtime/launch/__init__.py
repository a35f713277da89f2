"""Launchers: they start the processes of a run, keep them alive and leave none behind."""

from assay.core.leaf import Factory

LAUNCHERS = (Factory("local", "assay.runtime.launch.local:LocalLauncher", "All processes on this machine."),)
