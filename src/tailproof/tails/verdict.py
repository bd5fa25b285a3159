"""The verdict: "not Gaussian" and "heavy-tailed" are two questions, answered by two statistics.

| Gaussian rejected? | shape xi of the tail (interval widened for dependence) | verdict |
| --- | --- | --- |
| no | any | light-tailed, consistent with a Gaussian |
| yes | all above 0, and nowhere below 0 at k/2 and k/4 | heavy-tailed |
| yes | all below what a Gaussian shows at that threshold | light-tailed, as of bounded payoffs |
| yes | anything else | not Gaussian, no evidence of heavy tails |

Heavy-tailed thus means: the largest deviations thin out more slowly than any exponential, with (1 +
level) / 2 confidence. An exponential tail is called heavy once in twenty times at level 0.9, a
Gaussian or bounded one hardly ever. Laws with an exponential tail whose hazard rate falls towards
it (a gamma of shape below one) are called heavy more often than that.

A series that trends or wanders repeats itself: its interval is widened by the design effect, and if
fewer than eight independent large deviations would be left, nothing is said about its tail.
"""

from __future__ import annotations

from tailproof.tails.dependence import Dependence
from tailproof.tails.indices import FEWEST
from tailproof.tails.shape import ShapeFit

HEAVY = "heavy-tailed"
NOT_GAUSSIAN = "not Gaussian, no evidence of heavy tails"
BOUNDED = "light-tailed (bounded)"
GAUSSIAN = "light-tailed (consistent with a Gaussian)"


def silent(fit: ShapeFit | None, dependence: Dependence) -> bool:
    """Tell whether dependence leaves too few independent large deviations to speak of a tail."""
    return fit is not None and fit.k / dependence.design_effect < FEWEST


def _interval(fit: ShapeFit) -> str:
    return f"shape {fit.shape:.2f} ({fit.shape_low:.2f} to {fit.shape_high:.2f})"


def judge(rejected: bool, fit: ShapeFit | None, dependence: Dependence) -> tuple[str, str]:
    """Return (verdict, reason).

    Parameters
    ----------
    rejected : bool
        Whether the Gaussian is rejected.
    fit : ShapeFit or None
        The shape of the tail of the absolute deviations; None if they are tied or few.
    dependence : Dependence
        Serial dependence of the payoffs.

    Examples
    --------
    >>> free = Dependence(0.0, 0.0, 1.0, 1.0, 1.0)
    >>> fit = ShapeFit(0.4, 0.2, 0.6, 1.0, 2.0, 100, -0.2, ())
    >>> judge(True, fit, free)
    ('heavy-tailed', 'shape 0.40 (0.20 to 0.60) above 0: heavier than an exponential tail')
    """
    if not rejected:
        return GAUSSIAN, "Lilliefors' test does not reject the Gaussian"
    if fit is None:
        return NOT_GAUSSIAN, "the largest deviations are too few or tied to show a shape"
    if silent(fit, dependence):
        effective = fit.k / dependence.design_effect
        return NOT_GAUSSIAN, (
            f"the series repeats itself (rank autocorrelation {dependence.autocorrelation:.2f}): "
            f"its {fit.k} largest deviations tell as much as {effective:.1f} independent ones"
        )
    if fit.shape_low > 0.0 and fit.turns:
        return NOT_GAUSSIAN, f"{_interval(fit)}, but below 0 for the largest among them"
    if fit.shape_low > 0.0:
        return HEAVY, f"{_interval(fit)} above 0: heavier than an exponential tail"
    if fit.shape_high < fit.gaussian:
        return BOUNDED, f"{_interval(fit)} below the Gaussian's {fit.gaussian:.2f}"
    return NOT_GAUSSIAN, f"{_interval(fit)} not above 0"
