"""Built-in sources: local files, and rows written where they are used."""
