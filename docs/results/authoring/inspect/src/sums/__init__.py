from sums.task import sums

__all__ = ["sums"]
