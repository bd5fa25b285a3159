"""Robust statistics of arms against their formulas, written out with numpy."""

import numpy as np
import pytest

from tailproof._compiled import arm_statistics as compiled
from tailproof.bandits.arm_statistics import FACTORS


@pytest.fixture
def law():
    residuals = np.random.default_rng(0).standard_t(2.0, 2_000)
    return compiled.pooled_law(residuals, np.geomspace(0.05, 1e4, 64), 2.0), residuals


def shared(factor=1.0):
    result = np.zeros(compiled.SHARED)
    result[compiled.ATOM], result[compiled.ATOM_FREE] = np.inf, 1.0
    result[compiled.TIE], result[compiled.FACTOR] = np.nan, factor
    return result


def test_the_pooled_law_is_that_of_the_residuals(law):
    table, residuals = law
    for j in (0, 20, 40, 63):
        b = table[compiled.LEVEL, j]
        assert table[compiled.SHARE, j] == pytest.approx(np.minimum(residuals**2 / b**2, 1).mean())
        assert table[compiled.VARIANCE, j] == pytest.approx(np.minimum(residuals**2, b**2).mean())
        assert table[compiled.INSIDE, j] == pytest.approx((np.abs(residuals) < b).mean())
    top = np.flatnonzero(len(residuals) * table[compiled.SHARE] <= 2.0)[0]
    most = table[compiled.LEVEL, top]
    for j in (0, 30):
        b = table[compiled.LEVEL, j]
        hidden = np.clip(residuals, -most, most) - np.clip(residuals, -b, b)
        assert table[compiled.HIDDEN, j] == pytest.approx(hidden.mean())


def test_the_level_is_the_smallest_that_meets_its_target(law):
    table, _ = law
    x = np.random.default_rng(1).standard_t(1.5, 80)
    w = np.linspace(0.5, 1.0, 80)
    at = compiled.solve_level(x, w, 80, 0.3, table, 5.0)

    def total(j):
        b = table[compiled.LEVEL, j]
        own = (w * np.minimum((x - 0.3) ** 2 / b**2, 1.0)).sum()
        return own + compiled.PSEUDO_PAYOFFS * table[compiled.SHARE, j]

    assert total(at) <= 5.0 < total(at - 1)


def test_the_center_solves_the_equation_of_huber_with_the_prior(law):
    table, _ = law
    x = np.random.default_rng(2).standard_t(1.5, 200) + 3.0
    w = np.ones(200)
    c, b, clipped, total, noise, hidden, typical = compiled.huber_fit(
        x, w, 200, np.median(x), 1.0, 10.0, table, shared(), 1.0
    )
    assert total == 200.0
    assert clipped == pytest.approx(np.clip(x - c, -b, b).sum())
    assert clipped == pytest.approx(10.0 * (c - 1.0), abs=0.05 * b)  # after four steps
    assert noise > 0.0
    free = 200.0 + compiled.PSEUDO_PAYOFFS
    at = compiled.level_of_share(table, np.log1p(free) / free)
    share = table[compiled.SHARE]
    assert share[at] <= np.log1p(free) / free < share[at - 1]
    assert hidden == table[compiled.HIDDEN, np.flatnonzero(table[compiled.LEVEL] == b)[0]]
    assert typical == table[compiled.VARIANCE, at] / table[compiled.INSIDE, at] ** 2


def test_a_payoff_between_fits_changes_the_arm_as_a_sum_would(law):
    table, _ = law
    count = 30
    payoffs = np.random.default_rng(3).standard_normal(count + 1)
    stamps, previous = np.arange(1.0, count + 2.0), np.full(count + 1, -1)
    told, last = np.zeros(count + 1, dtype=np.int64), np.array([-1])
    stats, common = np.zeros((1, compiled.COLUMNS)), shared()
    compiled.link_payoffs(0, count, told, last, previous, stats)
    common[compiled.CLOCK] = count
    columns = (last, previous, payoffs, stamps, stats, table, common)
    compiled.fit_arms(np.array([0]), *columns)
    row = stats[0].copy()
    common[compiled.CLOCK] = count + 1
    compiled.add_payoff(0, count, *columns)
    new = np.clip(payoffs[count] - row[compiled.CENTER], -row[compiled.CUT], row[compiled.CUT])
    clipped = row[compiled.CLIPPED] + new
    expected = row[compiled.CENTER] + clipped / (count + 1) + row[compiled.SHIFT]
    assert stats[0, compiled.MEAN] == pytest.approx(expected)
    assert stats[0, compiled.COUNT] == count + 1


def test_where_payoffs_are_split_those_that_differ_from_the_tie_alone_are_fitted(law):
    table, _ = law
    rng = np.random.default_rng(5)
    sizes = rng.standard_normal(12) + 4.0
    payoffs = np.concatenate([sizes, np.zeros(38), [0.0, 5.0]])
    fitted = []
    for y in (payoffs, payoffs[payoffs != 0.0]):
        n = len(y)
        columns = (np.array([-1]), np.full(n, -1), y, np.arange(1.0, n + 1.0))
        stats, common = np.zeros((1, compiled.COLUMNS)), shared()
        common[compiled.TIE], common[compiled.CLOCK] = 0.0, n
        compiled.link_payoffs(0, n - 2, np.zeros(n, dtype=np.int64), *columns[:2], stats)
        compiled.fit_arms(np.array([0]), *columns, stats, table, common)
        stats[0, compiled.NEXT_FIT] = np.inf
        for t in (n - 2, n - 1):
            compiled.add_payoff(0, t, *columns, stats, table, common)
        fitted.append(stats[0])
    split, alone = fitted
    assert split[compiled.TRIALS] == 52.0
    assert split[compiled.WEIGHT] == 13.0
    assert alone[compiled.WEIGHT] == alone[compiled.TRIALS] == 13.0


def test_older_payoffs_count_less_and_are_forgotten():
    payoffs, stamps = np.arange(100.0), np.arange(1.0, 101.0)
    previous, last = np.arange(-1, 99), np.array([99])
    x, w = np.empty(100), np.empty(100)
    common = shared()
    common[compiled.CLOCK], common[compiled.DECAY] = 100.0, np.log(2.0)
    n, total = compiled.gather(last, previous, payoffs, stamps, 0, common, 100, x, w)
    assert n == 30  # 2^-30 is the first weight below 1e-9
    assert total == pytest.approx(2.0)
    assert w[:4] == pytest.approx([1.0, 0.5, 0.25, 0.125])
    assert x[:3].tolist() == [99.0, 98.0, 97.0]


def test_mean_and_variance_between_arms_are_found():
    """2,000 arms: the estimates are within four of their standard errors."""
    rng = np.random.default_rng(4)
    variances = rng.uniform(0.5, 2.0, 2_000)
    means = rng.normal(5.0, 2.0, 2_000) + rng.standard_normal(2_000) * np.sqrt(variances)
    mu, tau2 = compiled.variance_between(means, variances)
    assert mu == pytest.approx(5.0, abs=4 * np.sqrt(5.25 / 2_000))
    assert tau2 == pytest.approx(4.0, abs=4 * 5.25 * np.sqrt(2 / 2_000))
    again = compiled.variance_between(1e100 * means + 3e100, 1e200 * variances)
    assert again == pytest.approx((1e100 * (mu + 3.0), 1e200 * tau2))
    assert compiled.variance_between(np.ones(3), np.ones(3)) == (1.0, 0.0)
    assert compiled.variance_between(np.ones(1), np.ones(1)) == (1.0, 0.0)


def test_the_variance_between_arms_is_not_zero_because_one_arm_alone_is_known():
    """The method of moments finds 0 here: the five others lie within their errors."""
    means, variances = np.array([0.7, 0.2, 1.1, 0.5, 1.3, 0.9]), np.array([1e-3] + [1.0] * 5)
    assert compiled.variance_between(means, variances)[1] > 0.2**2


def linked(payoffs_by_arm):
    """Return the log of arms with these payoffs, as `fit_arms` and `choose_factor` take it."""
    told = np.repeat(np.arange(len(payoffs_by_arm)), [len(y) for y in payoffs_by_arm])
    payoffs = np.concatenate(payoffs_by_arm)
    last, previous = np.full(len(payoffs_by_arm), -1), np.full(len(payoffs), -1)
    stats = np.zeros((len(payoffs_by_arm), compiled.COLUMNS))
    compiled.link_payoffs(0, len(payoffs), told, last, previous, stats)
    residuals = np.concatenate([y - np.median(y) for y in payoffs_by_arm])
    law = compiled.pooled_law(residuals, np.geomspace(0.05, 1e4, 64), 2.0)
    return last, previous, payoffs, np.arange(1.0, len(payoffs) + 1.0), stats, law


def chosen_factor(payoffs_by_arm):
    columns, common = linked(payoffs_by_arm), shared(FACTORS[0])
    arms = np.arange(len(payoffs_by_arm))
    compiled.fit_arms(arms, *columns, common)
    return compiled.choose_factor(arms, *columns, common, FACTORS, 2_000)


def test_arms_of_one_symmetric_heavy_law_are_truncated_much():
    """Student-t(1.5): the choice is itself random; the median of three seeds is taken."""
    chosen = []
    for seed in (5, 6, 7):
        rng = np.random.default_rng(seed)
        chosen.append(chosen_factor([rng.standard_t(1.5, 500) + i for i in range(12)]))
    assert np.median(chosen) >= 4.0


def test_arms_whose_tails_differ_are_truncated_little():
    """Log-normal arms of one median and means from 1.1 to 3.5: truncation would hide the means."""
    for seed in (5, 6, 7):
        rng = np.random.default_rng(seed)
        samples = [np.exp(s * rng.standard_normal(1_500)) for s in np.linspace(0.5, 1.6, 20)]
        assert chosen_factor(samples) <= 2.0
