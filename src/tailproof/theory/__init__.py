"""The paper's theory as functions of arrays: information gain, regret bounds, exponents.

The functions named `..._bound` and `greedy_gain` return explicit bounds; those named `..._rate` and
`..._exponent` return orders of growth, without constants.
"""

from typing import TYPE_CHECKING

from tailproof._util import lazy

if TYPE_CHECKING:
    from tailproof.bandits.schedules import theorem4_oversampling
    from tailproof.theory.maximum_gain import (
        ExactGain,
        GreedyGain,
        exact_maximum_gain,
        gain_upper_bound,
        greedy_gain,
        information_gain,
    )
    from tailproof.theory.moments import payoff_moment
    from tailproof.theory.rates import (
        OPEN_CONSTANT,
        gain_exponent,
        linear_gain_bound,
        linear_gain_rate,
        matern_gain_exponent,
        matern_gain_rate,
        matern_is_sublinear,
        matern_least_smoothness,
        matern_lower_rate,
        regret_exponent,
        squared_exponential_gain_rate,
        squared_exponential_lower_rate,
    )
    from tailproof.theory.rounds import largest_betas, truncation_thresholds
    from tailproof.theory.upper_bounds import (
        approximation_regret,
        dictionary_size_bound,
        exact_features_regret_bound,
        gp_ucb_regret_bound,
        linear_bandit_regret_bound,
        theorem1_regret_bound,
        theorem3_regret_bound,
        theorem4_regret_bound,
        trivial_regret_bound,
    )

__all__ = [
    "OPEN_CONSTANT",
    "ExactGain",
    "GreedyGain",
    "approximation_regret",
    "dictionary_size_bound",
    "exact_features_regret_bound",
    "exact_maximum_gain",
    "gain_exponent",
    "gain_upper_bound",
    "gp_ucb_regret_bound",
    "greedy_gain",
    "information_gain",
    "largest_betas",
    "linear_bandit_regret_bound",
    "linear_gain_bound",
    "linear_gain_rate",
    "matern_gain_exponent",
    "matern_gain_rate",
    "matern_is_sublinear",
    "matern_least_smoothness",
    "matern_lower_rate",
    "payoff_moment",
    "regret_exponent",
    "squared_exponential_gain_rate",
    "squared_exponential_lower_rate",
    "theorem1_regret_bound",
    "theorem3_regret_bound",
    "theorem4_oversampling",
    "theorem4_regret_bound",
    "trivial_regret_bound",
    "truncation_thresholds",
]

_MODULES = ("rates", "rounds", "upper_bounds", "maximum_gain", "moments")
__getattr__, __dir__ = lazy.attach(__name__, _MODULES, __all__)
