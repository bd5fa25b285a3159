"""Posteriors of arms and upper confidence bounds against their formulas, written out with numpy."""

import numpy as np
import pytest
from scipy import stats as distributions

from tailproof._compiled import arm_choice as choice
from tailproof._compiled import arm_statistics as compiled

WORTH = 3.0


def shared(tie=np.nan):
    result = np.zeros(compiled.SHARED)
    result[compiled.TIE], result[compiled.PRIOR_WORTH] = tie, WORTH
    result[compiled.TYPICAL_NOISE] = 1.0
    return result


def bounds_of(told, explore, t, pending=0.0, typical=0.0, arms=12):
    """Return the upper confidence bound of an arm: payoffs, mean, variances of noise and prior."""
    n, mean, noise, prior = told
    judged = 0.5 * (noise + max(noise, typical))
    error = judged / (n + pending)
    variance = prior * error / (prior + error)
    count = max(n + pending + judged / prior, 1.0)
    width = explore * choice.EXPLORE * np.sqrt(choice.patience(arms, t + 1.0, WORTH))
    return mean + width * np.sqrt(2.0 * variance * max(np.log((t + 1.0) / count), 0.0))


def arms_with(rows, typical):
    """Return `stats`, `shared` and posterior means of arms such as `bounds_of` takes them."""
    stats, common = np.zeros((len(rows), compiled.COLUMNS)), shared()
    for row, (n, _, noise, prior) in zip(stats, rows, strict=True):
        row[[compiled.WEIGHT, compiled.TRIALS, compiled.COUNT]] = n
        row[compiled.NOISE], row[compiled.TYPICAL] = noise, typical
        row[compiled.PRIOR_VARIANCE] = prior
    common[compiled.CLOCK] = sum(row[0] for row in rows)
    return stats, common, np.array([row[1] for row in rows])


@pytest.mark.parametrize("explore", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("typical", [0.0, 2.0])
def test_the_largest_upper_confidence_bound_is_chosen(explore, typical):
    rng = np.random.default_rng(8)
    for _ in range(50):
        rows = [
            (float(rng.integers(1, 60)), rng.standard_normal(), rng.uniform(0.2, 4.0), 0.7)
            for _ in range(12)
        ]
        stats, common, mean = arms_with(rows, typical)
        pending = rng.integers(0, 3, 12)
        active = np.ones(12, dtype=bool)
        t = common[compiled.CLOCK]

        def bounds(arms, rows=rows, pending=pending, t=t):
            return [
                bounds_of(row, explore, t, p, typical, arms)
                for row, p in zip(rows, pending, strict=True)
            ]

        args = (explore, pending, active, stats, common, mean)
        assert choice.best_bound(*args) == int(np.argmax(bounds(12)))
        active[np.argmax(bounds(12))] = False
        left = np.where(active, bounds(11), -np.inf)
        assert choice.best_bound(*args) == int(np.argmax(left))


def test_bounds_are_narrower_while_there_are_few_payoffs_for_many_arms():
    assert choice.patience(2, 3.0, 1.0) == choice.patience(6, 3.0, 50.0) == 1.0
    assert choice.patience(1_000, 3.0, 50.0) == (6 / 1_000) ** choice.PATIENCE_POWER
    full = 60 * 10.0 * choice.WORTHS
    by_payoffs = [choice.patience(60, share * full, 10.0) for share in (0.01, 0.2, 0.9, 1.0, 5.0)]
    assert by_payoffs == sorted(by_payoffs)
    assert by_payoffs[0] < by_payoffs[1] < by_payoffs[2] < by_payoffs[3] == by_payoffs[4] == 1.0


def test_the_first_arm_without_payoffs_is_chosen_where_the_others_are_worse():
    stats, common, mean = arms_with([(30.0, -2.0, 1.0, 1.0), (0.0, 0.0, 0.0, 1.0)] * 2, 0.0)
    active, pending = np.ones(4, dtype=bool), np.zeros(4, dtype=np.int64)
    assert choice.best_bound(1.0, pending, active, stats, common, mean) == 1
    pending[1] = 1  # now arm 3 is the less certain one
    assert choice.best_bound(1.0, pending, active, stats, common, mean) == 3


def test_contenders_are_all_arms_that_can_win():
    mean, std = np.array([0.0, 1.0, 5.0, 4.0]), np.array([2.0, 0.1, 0.5, 0.5])
    active = np.array([True, True, True, False])
    assert choice.contenders(mean, std, active, 3.0).tolist() == [0, 2]


def test_the_law_of_the_rates_of_many_arms_is_found():
    """2,000 arms with Beta(4, 16) rates: mean 0.2, concentration 20."""
    rng = np.random.default_rng(1)
    trials = rng.integers(20, 200, 2_000)
    hits = rng.binomial(trials, rng.beta(4.0, 16.0, 2_000))
    rate, worth = choice.rate_prior(hits.astype(float), trials.astype(float))
    assert rate == pytest.approx(0.2, rel=0.05)
    assert worth == pytest.approx(20.0, rel=0.15)


def test_arms_with_few_payoffs_that_are_all_tied_are_no_sign_of_other_rates():
    """0.9^20 = 12 % each: the rate stays near that of the arm with 985 of 9,840."""
    hits = np.array([985.0, 1.0, 0.0, 1.0, 2.0, 0.0])
    trials = np.array([9840.0, 35.0, 20.0, 35.0, 50.0, 20.0])
    rate, worth = choice.rate_prior(hits, trials)
    assert 0.05 < rate < 0.1
    assert worth > 20.0


def test_the_posterior_of_split_payoffs_is_that_of_rate_times_size():
    """An arm with 30 payoffs of which 4 differ from -1, of mean 5 and variance 8; 400,000 draws."""
    common = shared(-1.0)
    common[compiled.RATE], common[compiled.RATE_WORTH] = 0.2, 50.0
    row = np.zeros((1, compiled.COLUMNS))
    row[0, [compiled.TRIALS, compiled.WEIGHT, compiled.MEAN, compiled.NOISE]] = 30.0, 4.0, 5.0, 8.0
    row[0, [compiled.PRIOR_MEAN, compiled.PRIOR_VARIANCE]] = 3.0, 6.0
    mean, std = np.empty(1), np.empty(1)
    choice.posterior(np.array([0]), row, common, mean, std)
    rng = np.random.default_rng(2)
    rate = distributions.beta(10.0 + 4.0, 40.0 + 26.0).rvs(400_000, random_state=rng)
    size = rng.normal(3.0 + 0.75 * 2.0, np.sqrt(0.75 * 2.0), 400_000)  # 6 / (6 + 8 / 4) = 0.75
    draws = -1.0 + rate * (size + 1.0)
    assert mean[0] == pytest.approx(draws.mean(), abs=5 * std[0] / np.sqrt(400_000))
    assert std[0] == pytest.approx(draws.std(), rel=0.01)


def test_pending_payoffs_lower_the_deviation_of_an_arm_whose_payoffs_are_split():
    common = shared(0.0)
    common[compiled.RATE], common[compiled.RATE_WORTH] = 0.1, 30.0
    for weight in (0.0, 3.0):
        row = np.zeros(compiled.COLUMNS)
        row[[compiled.TRIALS, compiled.WEIGHT, compiled.MEAN]] = 20.0, weight, 5.0
        row[[compiled.NOISE, compiled.PRIOR_MEAN, compiled.PRIOR_VARIANCE]] = 2.0, 4.0, 3.0
        found = [choice.split_moments(row, common, 1.0, more, True) for more in (0.0, 1.0, 50.0)]
        means, variances = [f[0] for f in found], [f[1] for f in found]
        assert means[0] == means[1] == means[2]
        assert variances[0] > variances[1] > variances[2] > 0.0
