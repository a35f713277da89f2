"""What `assay init` writes: files with a few marked names, and the code that fills them in."""
