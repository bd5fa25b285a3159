"""Truncated sums of sites of any size: against a plain pass over the payoffs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import literal
import tailproof as tp
from tailproof._compiled import payoff_store
from tailproof.bandits.estimators import TruncateDirections


def filled(arms, payoffs, count):
    estimator = TruncateDirections(count)
    estimator.add_many(np.asarray(arms, dtype=np.int64), np.asarray(payoffs, dtype=np.float64))
    return estimator.store


def check(store, arms, payoffs, count, u, b):
    for j in range(count):
        told = payoffs[arms == j]
        got = payoff_store.truncated_sum(store.sites, store.pool, store.buffers, j, u, b)
        kept = told[np.abs(u * told) <= b]
        assert got == pytest.approx(kept.sum(), abs=1e-12 * (np.abs(kept).sum() + 1e-300))
        assert store.totals[j] == pytest.approx(told.sum(), abs=1e-12 * (np.abs(told).sum() + 1e-9))
        assert store.largest[j] == (np.abs(told).max() if len(told) else 0.0)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(
        st.sampled_from([0, 1, 5, 700, 1023, 1024, 1025, 1600, 4000]), min_size=1, max_size=4
    ),
    quantile=st.floats(0.0, 1.0),
)
def test_sums_are_those_of_a_pass_over_the_payoffs(seed, sizes, quantile):
    """Sizes around the one from which buffers are used, and beyond several merges."""
    rng = np.random.default_rng(seed)
    arms = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    payoffs = rng.standard_t(1.2, size=len(arms)).round(int(rng.integers(0, 6)))
    store = filled(arms, payoffs, len(sizes))
    threshold = float(np.quantile(np.abs(payoffs), quantile)) if len(payoffs) else 1.0
    for u, b in (
        (1.0, threshold),
        (-0.37, 0.37 * threshold),
        (0.0, 0.0),
        (1.0, 0.0),
        (1e-200, 1e-100),
    ):
        check(store, arms, payoffs, len(sizes), u, b)


def test_a_huge_payoff_never_touches_the_sums_below_it():
    payoffs = np.array([1.0, 1e150, 2.0, -1e150, 3.0] * 600)
    store = filled(np.zeros(len(payoffs)), payoffs, 1)
    got = payoff_store.truncated_sum(store.sites, store.pool, store.buffers, 0, 1.0, 10.0)
    assert got == 600 * 6.0


@pytest.mark.parametrize("features", [tp.Exact(), tp.Nystrom(0.5, oversampling=50.0)], ids=str)
def test_thousands_of_payoffs_at_few_arms_agree_with_the_transcription(features):
    """Past buffers (1,024 payoffs an arm) and refreshes (every 512), with truncation biting."""
    arms = np.array([[0.0], [0.4], [1.0]])
    kernel = tp.Matern(0.5, 0.5)
    moment = {"alpha": 0.5, "v": 0.02}
    opt = tp.ata_gp_ucb(
        tp.Finite(arms),
        kernel,
        features=features,
        moment=tp.MomentBound(**moment),
        norm_bound=1.0,
        horizon=4000,
        seed=0,
    )
    rng = np.random.default_rng(3)
    index = rng.choice(3, p=[0.6, 0.35, 0.05], size=4000)
    payoffs = rng.standard_t(1.4, size=4000) + index
    opt.tell_index(index, payoffs)
    gram = kernel.matrix(arms, arms)
    values, vectors = np.linalg.eigh(gram)
    root = vectors * np.sqrt(values)  # all three arms are in the dictionary: K_D^(1/2) = K^(1/2)
    Phi = root if isinstance(features, tp.Exact) else root @ vectors.T
    reference = literal.LiteralFeatures(
        Phi=Phi,
        k_diag=np.ones(3),
        ridge=1.0,
        truncation=lambda t, m: literal.theorem4_truncation(t, m, delta=0.1, T=4000, **moment),
        variance="ii",
    )
    for arm, payoff in zip(index.tolist(), payoffs.tolist(), strict=True):
        reference.tell(arm, payoff)
    assert opt.posterior.directions == 3
    plain = np.array([payoffs[index == j].mean() for j in range(3)])
    assert np.abs(reference.mean - plain).max() > 0.01  # something was cut
    np.testing.assert_allclose(opt.predict().mean, reference.mean, rtol=1e-9)
    np.testing.assert_allclose(opt.predict().std ** 2, reference.variance, rtol=1e-9)
