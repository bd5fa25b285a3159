"""The probability that a payoff differs from the tied value."""

import math

import numpy as np
import pytest
from scipy.special import expit

from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.hyperparameters import Prior
from tailproof.search.model.occurrence import (
    Counts,
    OccurrenceParameters,
    condition_occurrence,
    count_by_place,
    fit_occurrence,
)

LAYOUT = KernelLayout(np.array([0]), np.array([0]))
NOTHING = np.zeros((0, 1))


def counts(places, trials, hits):
    zeros = np.zeros(len(places))
    columns = (np.array(a, dtype=float) for a in (trials, hits))
    return Counts(np.array(places, dtype=float)[:, None], *columns, zeros, zeros)


def parameters(signal=0.5, offset=-2.0):
    return OccurrenceParameters(offset, KernelParameters(np.array([0.3]), signal, 1.0))


def test_the_posterior_at_one_place_has_its_mode_and_curvature():
    # There eta ~ N(0, 1 + signal), and the mode solves n p - k + eta / (1 + signal) = 0.
    n, k, prior = 40.0, 9.0, 1.5
    posterior = condition_occurrence(counts([0.5], [n], [k]), LAYOUT, parameters(), NOTHING)
    mean, variance = posterior.predict(np.array([[0.5]]))
    p = expit(mean[0])
    assert n * p - k + (mean[0] + 2.0) / prior == pytest.approx(0.0, abs=1e-4)
    assert variance[0] == pytest.approx(1.0 / (n * p * (1.0 - p) + 1.0 / prior), rel=1e-4)


@pytest.mark.parametrize(
    ("trials", "hits"), [(1e6, 0.0), (1e6, 1e6), (1.0, 1.0), (1.0, 0.0)], ids=str
)
def test_a_place_without_contrast_has_a_finite_posterior(trials, hits):
    posterior = condition_occurrence(
        counts([0.2, 0.8], [trials, 10.0], [hits, 2.0]), LAYOUT, parameters(), NOTHING
    )
    mean, variance = posterior.predict(np.array([[0.2], [0.8]]))
    assert np.isfinite(mean).all()
    assert (variance > 0.0).all()
    assert (mean[0] > mean[1]) == (hits > 0.0)


def test_places_that_differ_get_a_larger_signal_than_places_that_do_not():
    places = np.linspace(0.0, 1.0, 12)
    trials = np.full(12, 500.0)
    equal = fit_occurrence(counts(places, trials, np.full(12, 25.0)), LAYOUT, Prior(), None)
    varied = np.where(places > 0.5, 80.0, 10.0)
    different = fit_occurrence(counts(places, trials, varied), LAYOUT, Prior(), None)
    assert equal.kernel.signal_var < 0.1
    assert different.kernel.signal_var > 0.3
    assert equal.offset == pytest.approx(math.log(0.05 / 0.95), abs=0.02)


def test_places_with_few_payoffs_are_shrunk_to_the_others():
    hits = [50.0, 60.0, 45.0, 55.0, 4.0]
    told = counts([0.0, 0.25, 0.5, 0.75, 1.0], [1000.0] * 4 + [20.0], hits)
    fitted = fit_occurrence(told, LAYOUT, Prior(), None)
    p = expit(condition_occurrence(told, LAYOUT, fitted, NOTHING).predict(told.places)[0])
    assert p[:4] == pytest.approx(np.array(hits[:4]) / 1000.0, abs=0.01)
    assert p[4] < 0.1  # 4 of 20 are 0.2


def test_pending_trials_lower_the_variance_as_one_payoff_does():
    told, at = counts([0.1, 0.5], [300.0, 300.0], [30.0, 10.0]), np.array([[0.9]])
    before = condition_occurrence(told, LAYOUT, parameters(), NOTHING).predict(at)
    after = condition_occurrence(told, LAYOUT, parameters(), at).predict(at)
    assert after[0] == pytest.approx(before[0], abs=1e-6)
    p = expit(before[0])
    # The information of one payoff is p (1 - p) at that place; here about its median over places.
    assert after[1] < before[1]
    assert 1.0 / after[1] - 1.0 / before[1] < 3.0 * p * (1.0 - p) + 0.05


def test_payoffs_are_counted_in_the_order_of_their_places():
    points = np.array([[0.9], [0.1], [0.9], [0.1], [0.5]])
    found = count_by_place(points, np.array([True, False, True, True, False]))
    assert found.places.ravel().tolist() == [0.9, 0.1, 0.5]
    assert found.trials.tolist() == [2.0, 2.0, 1.0]
    assert found.hits.tolist() == [2.0, 1.0, 0.0]
