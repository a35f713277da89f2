"""Text with positions: marked trees, findings with carets, overrides."""
