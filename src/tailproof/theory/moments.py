"""From a moment bound on the noise to one on the payoffs (the footnote of section 2)."""

from __future__ import annotations

from tailproof._util import checks
from tailproof.bandits.schedules import MomentBound


def payoff_moment(
    noise: MomentBound, largest_mean: float, *, symmetric: bool = False
) -> MomentBound:
    """Bound the payoffs' moment E|y|^(1+alpha), y = f(x) + noise, by E|noise|^(1+alpha) <= v.

    With p = 1 + alpha, mean-zero noise and |f(x)| <= M, the smaller of

        M^p + 2^(2-p) v          |a + b|^p <= |a|^p + p |a|^(p-1) sgn(a) b + 2^(2-p) |b|^p
        (M + v^(1/p))^p          Minkowski

    (the first from von Bahr and Esseen 1965; it is M^2 + v for finite variance, which Remark 1
    prints as R^2 without the B^2). For noise symmetric about zero, M^p + v (Clarkson).

    Parameters
    ----------
    noise
        alpha and v of the noise.
    largest_mean
        M >= |f(x)| at all arms, in units of payoff: B where k(x, x) <= 1.

    Examples
    --------
    Student-t noise with 3 degrees of freedom has variance 3; means are at most 1:

    >>> payoff_moment(MomentBound(alpha=1.0, v=3.0), largest_mean=1.0)
    MomentBound(alpha=1.0, v=4.0)
    """
    checks.instance("noise", noise, MomentBound, "a MomentBound(alpha, v)")
    p, M = 1.0 + noise.alpha, checks.non_negative("largest_mean", largest_mean)
    if checks.flag("symmetric", symmetric):
        return MomentBound(noise.alpha, M**p + noise.v)
    return MomentBound(noise.alpha, min(M**p + 2.0 ** (2.0 - p) * noise.v, (M + noise.scale) ** p))
