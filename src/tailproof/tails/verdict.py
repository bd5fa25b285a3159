"""The verdict: "not Gaussian" and "heavy-tailed" are decided by two different statistics.

| Gaussian rejected? | shape xi of the tail (interval widened for dependence) | verdict |
| --- | --- | --- |
| no | any | light-tailed, consistent with a Gaussian |
| yes | all above 0, and nowhere below 0 at k/2 and k/4 | heavy-tailed |
| yes | all below the shape of a Gaussian at that threshold | light-tailed, as of bounded payoffs |
| yes | anything else | not Gaussian, no evidence of heavy tails |

Payoffs of which at least four in five equal their median (revenue of visitors who rarely buy) are
sparse: a verdict of their own instead of the last two, since their tail is that of few payoffs.

Heavy-tailed thus means: the tail decays more slowly than any exponential, with (1 + level) / 2
confidence. An exponential tail is called heavy once in twenty times at level 0.9, a
Gaussian or bounded one hardly ever. Laws with an exponential tail whose hazard rate falls towards
it (a gamma of shape below one) are called heavy more often than that.

A series with a trend or a random walk is dependent: its interval is widened by the design effect,
and if that leaves fewer than eight independent large deviations, its tail is not judged.
"""

from __future__ import annotations

from tailproof.tails.dependence import Dependence
from tailproof.tails.order_statistics import MIN_ORDER_STATISTICS
from tailproof.tails.shape import ShapeFit

HEAVY = "heavy-tailed"
NOT_GAUSSIAN = "not Gaussian, no evidence of heavy tails"
BOUNDED = "light-tailed (bounded)"
SPARSE = "sparse, no evidence of heavy tails"
GAUSSIAN = "light-tailed (consistent with a Gaussian)"
SPARSE_SHARE = 0.8  # of payoffs equal to their median


def too_dependent(fit: ShapeFit | None, dependence: Dependence) -> bool:
    """Tell whether a verdict is impossible: dependence leaves too few independent deviations."""
    return fit is not None and fit.k / dependence.design_effect < MIN_ORDER_STATISTICS


def _shape_in_words(fit: ShapeFit) -> str:
    """Return for the verdict's reason the fitted shape of the tail with its interval."""
    return f"shape {fit.shape:.2f} ({fit.shape_lower:.2f} to {fit.shape_upper:.2f})"


def judge(
    rejected: bool, fit: ShapeFit | None, dependence: Dependence, share_at_median: float = 0.0
) -> tuple[str, str]:
    """Return (verdict, reason) from the rejection of the Gaussian, and the shape of the tail.

    `fit` is that of the absolute deviations, None if they are tied or few; `share_at_median` is the
    share of payoffs that equal their median.
    """
    verdict, reason = _judge_shape(rejected, fit, dependence)
    if share_at_median < SPARSE_SHARE or verdict == HEAVY:
        return verdict, reason
    return SPARSE, f"{share_at_median:.1%} of the payoffs equal their median; the others: {reason}"


def _judge_shape(rejected: bool, fit: ShapeFit | None, dependence: Dependence) -> tuple[str, str]:
    """Return the verdict on the tails from tests, shape and dependence."""
    if not rejected:
        return GAUSSIAN, "Lilliefors' test does not reject the Gaussian"
    if fit is None:
        return NOT_GAUSSIAN, "the largest deviations are too few or tied to show a shape"
    if too_dependent(fit, dependence):
        effective = fit.k / dependence.design_effect
        return NOT_GAUSSIAN, (
            f"payoffs are too dependent (rank autocorrelation {dependence.autocorrelation:.2f}): "
            f"the {fit.k} largest deviations are worth {effective:.1f} independent ones"
        )
    if fit.shape_lower > 0.0 and fit.turns:
        return NOT_GAUSSIAN, f"{_shape_in_words(fit)}, but below 0 for the largest among them"
    if fit.shape_lower > 0.0:
        return HEAVY, f"{_shape_in_words(fit)} above 0: heavier than an exponential tail"
    if fit.shape_upper < fit.gaussian:
        return BOUNDED, f"{_shape_in_words(fit)} below the Gaussian's {fit.gaussian:.2f}"
    return NOT_GAUSSIAN, f"{_shape_in_words(fit)} not above 0"
