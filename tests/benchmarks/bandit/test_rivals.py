"""The rivals of the regret benchmark: mabwiser's own choices where it is installed, and sense."""

import numpy as np
import pytest

from bandit import methods, rivals
from bandit.problems import LAWS, moment_at, payoffs_at, problem


@pytest.mark.parametrize("law", LAWS)
def test_moments_agree_with_what_is_drawn(law):
    """A lower moment, of order 1.2 or less, can be checked by simulation."""
    chosen = LAWS[law]
    low = type(chosen)(chosen.kind, chosen.low, chosen.span, 1.1, chosen.quantile)
    mean = low.low + low.span
    z = low.noise(400_000, np.random.default_rng(0))
    payoff = payoffs_at(low.kind, mean, z)
    assert np.mean(np.abs(payoff) ** 1.1) == pytest.approx(low.moment(mean), rel=0.1)
    assert np.isfinite(moment_at(law, mean, mean))


@pytest.mark.parametrize("law", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("method", methods.METHODS)
def test_every_method_does_no_worse_than_chance(law, method):
    p = problem(law, 6, 500, 0)
    regret = methods.METHODS[method][0](p, 0)
    assert regret.shape == (500,)
    assert (np.diff(regret) >= 0).all()
    assert regret[-1] <= 1.1 * 500 * (p.means.max() - p.means.mean())


def mabwiser_regret(policy, p):
    mab = pytest.importorskip("mabwiser.mab", reason="benchmarks/requirements.txt is not installed")
    k = len(p.means)
    played = mab.MAB(list(range(k)), policy(mab.LearningPolicy), seed=1)
    played.fit(list(range(k)), [p.payoff(arm, arm) for arm in range(k)])
    arms = list(range(k))
    for t in range(k, len(p.noise)):
        arm = played.predict()
        played.partial_fit([arm], [p.payoff(arm, t)])
        arms.append(arm)
    return np.cumsum(p.means.max() - p.means[arms])


def test_ucb1_makes_the_choices_of_mabwiser():
    p = problem("gaussian", 6, 400, 1)
    ours = rivals.ucb1(p.kind, p.means, p.noise, 1.0)
    assert ours == pytest.approx(mabwiser_regret(lambda policies: policies.UCB1(alpha=1.0), p))


def test_epsilon_greedy_is_close_to_mabwiser():
    """Two random policies: means over 30 problems differ by less than three standard errors."""
    gaps = []
    for seed in range(30):
        p = problem("gaussian", 6, 300, seed)
        ours = rivals.epsilon_greedy(p.kind, p.means, p.noise, 0.1, seed)[-1]
        gaps.append(ours - mabwiser_regret(lambda x: x.EpsilonGreedy(epsilon=0.1), p)[-1])
    assert abs(np.mean(gaps)) < 3.0 * np.std(gaps) / np.sqrt(len(gaps)) + 1e-9
