"""The `assay` command; `python -m assay` is the same."""

import sys


def main() -> int:
    """Run the command line and return its exit status."""
    from assay.runtime.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
