def total(prices: list[float]) -> float:
    """Add up what a basket costs."""
    return sum(prices)
