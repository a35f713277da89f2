"""The learning rate inside a stage: linear rise, plateau, linear fall."""


def learning_rate(step: int, num_steps: int, peak: float, *, warmup: int, decay: float, floor: float) -> float:
    """Return the rate of one step.

    peak * min(step / warmup, 1) while rising; over the last `decay * num_steps` steps it falls linearly to
    `floor * peak`, which the last step has.

    Args:
        step: Of the stage, from 1.
        num_steps: Length of the stage; 0 where nobody knows it, then nothing falls.
        peak: Largest rate.
        warmup: Steps of rise.
        decay: Part of the stage in which the rate falls, in [0, 1].
        floor: What it falls to, as a part of the peak, in [0, 1].

    Example:
        >>> [round(learning_rate(step, 10, 1.0, warmup=2, decay=0.5, floor=0.2), 2) for step in (1, 2, 5, 6, 10)]
        [0.5, 1.0, 1.0, 0.84, 0.2]
    """
    rate = peak * min(step / warmup, 1.0) if warmup else peak
    falling = decay * num_steps
    into = step - (num_steps - falling)
    if falling > 0 and into > 0:
        rate *= 1.0 - (1.0 - floor) * min(into / falling, 1.0)
    return rate
