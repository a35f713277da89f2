"""Checks on whole declarations, one family a module."""
