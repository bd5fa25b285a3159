"""The quick way of playing `Bandit` in the benchmark chooses what asking and telling chooses."""

import numpy as np
import pytest

import tailproof as tp
from bandit.play import arms_played
from bandit.problems import CHOOSING, REPORTING, payoffs_at, problem


@pytest.mark.parametrize(("law", "arms"), [("t1.5", 5), ("bernoulli", 70), ("tails-differ", 6)])
def test_quick_runs_play_the_arms_that_ask_and_tell_play(law, arms):
    p = problem(law, arms, 900, 3)
    bandit = tp.Bandit(list(range(arms)), seed=7)
    asked = []
    for t in range(900):
        asked.append(bandit.ask_index())
        bandit.tell_index(asked[-1], p.payoff(asked[-1], t))
    assert arms_played(p, 7).tolist() == asked


def test_laws_for_choosing_are_not_reported():
    assert not set(CHOOSING) & set(REPORTING)


@pytest.mark.parametrize("law", CHOOSING)
def test_payoffs_of_the_choosing_laws_have_the_means_they_state(law):
    """Means of 20,000 payoffs at exact quantiles, up to what the last quantile leaves out."""
    p = problem(law, 3, 4, 0)
    quantiles = (np.arange(20_000) + 0.5) / 20_000
    z = quantiles if CHOOSING[law].quantile is None else CHOOSING[law].quantile(quantiles)
    for mean in p.means.tolist():
        payoffs = payoffs_at(p.kind, mean, z)
        assert payoffs.mean() == pytest.approx(mean, abs=0.06 * max(1.0, mean))
