"""Student's t: how far a mean of few values may lie from the true one."""

import math

# For a two-sided 95% with so many degrees of freedom, from 1 on.
STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def student(degrees: int) -> float:
    """The two-sided 95% quantile, right to three digits.

    Beyond the table: the first terms of the expansion around the normal distribution (Abramowitz and Stegun, 26.7.5).
    """
    if degrees <= len(STUDENT):
        return STUDENT[degrees - 1]
    z = 1.959964
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def half_width(values: list[float]) -> float | None:
    """Half of the 95% confidence interval of the mean of independent values; nothing for a single one."""
    count = len(values)
    if count < 2:
        return None
    mean = math.fsum(values) / count
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return student(count - 1) * math.sqrt(variance / count)
