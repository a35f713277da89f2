"""Expressions: parsing, analysis and the two back ends."""
