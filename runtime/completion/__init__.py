"""Tab completion: what may stand where on the command line, and how each shell is told."""
