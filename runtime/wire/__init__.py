"""Sockets and frames: a client for workers, a server for the coordinator."""
