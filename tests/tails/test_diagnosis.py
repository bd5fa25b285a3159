"""Diagnoses: verdicts on exact laws and on real series, forms of input, and errors."""

import json

import numpy as np
import pytest

from data_files import data_file
from tailproof.tails import (
    BOUNDED,
    GAUSSIAN,
    HEAVY,
    NOT_GAUSSIAN,
    SPARSE,
    Diagnosis,
    diagnose,
    diagnose_file,
)


def walk(rng, n):
    return rng.standard_normal(n).cumsum()


@pytest.mark.parametrize(
    ("draw", "verdict"),
    [
        (lambda r: r.standard_t(2.5, 3_000), HEAVY),
        (lambda r: r.pareto(1.5, 3_000), HEAVY),
        (lambda r: np.exp(1.5 * r.standard_normal(3_000)), HEAVY),
        (lambda r: r.standard_normal(3_000), GAUSSIAN),
        (lambda r: r.random(3_000), BOUNDED),
        (lambda r: r.laplace(size=3_000), NOT_GAUSSIAN),
        (lambda r: walk(r, 3_000), NOT_GAUSSIAN),
        (lambda r: np.exp(0.03 * walk(r, 3_000)), NOT_GAUSSIAN),
        (
            lambda r: 10.0 * np.sin(np.arange(3_000) / 200.0) + r.standard_normal(3_000),
            NOT_GAUSSIAN,
        ),
        (lambda r: (r.random(3_000) < 0.3).astype(float), NOT_GAUSSIAN),
    ],
    ids=[
        "student-t",
        "pareto",
        "lognormal",
        "gaussian",
        "uniform",
        "laplace",
        "random walk",
        "price",
        "cycle",
        "coin",
    ],
)
def test_verdicts_on_known_laws(draw, verdict):
    assert diagnose(draw(np.random.default_rng(3))).verdict == verdict


def test_trends_are_never_heavy_tailed():
    rng = np.random.default_rng(4)
    for _ in range(40):
        found = diagnose(np.exp(0.02 * walk(rng, 600)))
        assert found.verdict in (NOT_GAUSSIAN, GAUSSIAN)


def test_gaussian_arms_of_many_scales_are_not_heavy_together():
    rng = np.random.default_rng(5)
    arms = {str(i): 10.0 ** rng.uniform(-3, 3) * rng.standard_normal(200) for i in range(30)}
    assert diagnose(arms).verdict == GAUSSIAN


def test_short_gaussian_arms_are_not_heavy_together():
    arms = np.random.default_rng(6).standard_normal((20, 200))
    assert diagnose(arms).verdict != HEAVY


def test_long_wide_and_mapping_agree():
    block = np.random.default_rng(7).standard_t(3, (300, 3))
    wide = diagnose(block)
    long = diagnose(block.T.ravel(), by=np.repeat(["a", "b", "c"], 300))
    mapped = diagnose({"a": block[:, 0], "b": block[:, 1], "c": block[:, 2]})
    assert (
        [a.both for a in wide.arms] == [a.both for a in long.arms] == [a.both for a in mapped.arms]
    )
    assert [a.name for a in long.arms] == ["a", "b", "c"]
    assert long == mapped


def test_the_same_seed_gives_the_same_diagnosis():
    x = np.random.default_rng(8).standard_t(3, 120_000)
    assert diagnose(x, seed=1) == diagnose(x, seed=1)
    assert diagnose(x, seed=1) != diagnose(x, seed=2)


def test_input_is_left_unmodified():
    x = np.random.default_rng(9).standard_t(3, 500)
    before = x.copy()
    diagnose(x)
    assert np.array_equal(x, before)


def test_location_changes_the_center_and_nothing_else():
    x = np.random.default_rng(10).standard_t(3, 2_000)
    plain, shifted = diagnose(x), diagnose(x + 1_000.0)
    assert shifted.pooled.center == pytest.approx(plain.pooled.center + 1_000.0)
    assert shifted.advice.v == pytest.approx(plain.advice.v, rel=1e-6)
    assert shifted.pooled.both.hill.gamma == pytest.approx(plain.pooled.both.hill.gamma, rel=1e-6)


def test_a_coin_gets_alpha_one_and_its_mean_square():
    found = diagnose((np.random.default_rng(11).random(2_000) < 0.3).astype(float))
    assert found.advice.alpha == 1.0
    assert 0.3 < found.advice.v < 0.35
    assert "recurs" in found.advice.statement


def test_mostly_zero_payoffs_with_heavy_rest():
    rng = np.random.default_rng(12)
    x = np.where(rng.random(20_000) < 0.9, 0.0, 1.0 + rng.pareto(1.5, 20_000))
    assert diagnose(x).verdict == HEAVY


@pytest.mark.parametrize("n", [20, 77, 600])
@pytest.mark.parametrize(
    "draw",
    [
        lambda r, n: np.arange(float(n)),
        lambda r, n: np.concatenate([np.zeros(n - 1), [1.0]]),
        lambda r, n: np.concatenate([np.zeros(n - 6), np.arange(1.0, 7.0)]),
        lambda r, n: r.integers(0, 4, n).astype(float),
        lambda r, n: np.round(r.standard_t(1.5, n)),
        lambda r, n: np.repeat(r.standard_normal(n), 5)[:n],
        lambda r, n: 1e15 + np.round(r.standard_normal(n)),
        lambda r, n: 1e69 * r.standard_normal(n),
        lambda r, n: 1e-310 * r.standard_normal(n),
        lambda r, n: np.exp(20.0 * r.standard_normal(n)),
        lambda r, n: r.standard_t(0.1, n),
    ],
    ids=[
        "line",
        "one spike",
        "six spikes",
        "few values",
        "rounded",
        "repeated",
        "far away",
        "huge",
        "subnormal",
        "many magnitudes",
        "index 0.1",
    ],
)
def test_strange_series_get_a_diagnosis_without_a_warning(draw, n):
    x = draw(np.random.default_rng(n), n)
    found = diagnose(np.stack([x, np.flip(x)], axis=1), level=0.99)
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.sentence
    assert found.table()
    assert found.advice.alpha is None or 0.0 < found.advice.alpha <= 1.0
    assert found.advice.v is None or 0.0 <= found.advice.v < np.inf


def test_short_and_constant_arms_are_set_aside_and_named():
    x = np.random.default_rng(13).standard_normal(100)
    found = diagnose({"good": x, "dead": np.ones(50), "short": x[:5]})
    assert [a.name for a in found.arms] == ["good"]
    assert any("constant: 'dead'" in note for note in found.notes)
    assert any("fewer than 20 payoffs: 'short'" in note for note in found.notes)


def test_transforms_apply_within_arms():
    prices = np.exp(np.random.default_rng(14).standard_t(3, (400, 2)).cumsum(axis=0) / 100.0)
    returns = diagnose(np.diff(np.log(prices), axis=0))
    assert diagnose(prices, transform="log-returns").arms == returns.arms
    steps = diagnose(np.diff(prices, axis=0))
    assert diagnose(prices, transform="differences").arms == steps.arms


def test_json_holds_everything_and_no_infinities():
    found = diagnose(np.random.default_rng(15).random((200, 3)))
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert record["verdict"] == found.verdict
    assert record["sentence"] == found.sentence
    assert len(record["arms"]) == 3
    assert set(record["pooled"]["curves"]) == {"hill", "reduced_hill", "mean_excess", "quantiles"}
    assert record["advice"]["alpha"] == found.advice.alpha


# ---- errors ----------------------------------------


@pytest.mark.parametrize(
    ("payoffs", "message"),
    [
        ([], "must hold payoffs"),
        ([1.0], r"`len\(payoffs\) >= 20` must hold"),
        (5.0, "must have 1 dimension"),
        ([2.0] * 50, "must vary, but got a constant series"),
        ([1.0, float("nan")] * 20, "must be finite, but got nan at position"),
        ([1.0, float("inf")] * 20, "must be finite"),
        ([1.0, 1e200] * 20, r"`\|payoffs\| <= 1e\+70` must hold"),
        (["a"] * 30, "must be an array of numbers"),
        ("payoffs.csv", "must be an array of numbers"),
        ({}, "must hold payoffs"),
        ({"a": []}, "must hold payoffs"),
    ],
)
def test_bad_payoffs_are_refused(payoffs, message):
    with pytest.raises(ValueError, match=message):
        diagnose(payoffs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "`0 < level < 1` must hold"),
        ({"level": "high"}, "`level` must be a finite number"),
        ({"seed": -1}, "`seed >= 0` must hold"),
        ({"transform": "logs"}, "`transform` must be one of"),
        ({"transform": "log-returns"}, "`payoffs > 0` must hold for log-returns"),
        ({"by": ["a", "b"]}, "`by` must hold 100 labels"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        diagnose(np.random.default_rng(20).standard_normal(100), **options)


def test_labels_and_columns_exclude_each_other():
    with pytest.raises(ValueError, match="`by` must be left out"):
        diagnose(np.zeros((30, 2)), by=["a"] * 30)
    with pytest.raises(ValueError, match="`by` must be left out"):
        diagnose({"a": np.arange(30.0)}, by=["a"] * 30)


# ---- real series ----------------------------------------


def test_stock_prices_are_not_gaussian_and_not_heavy():
    found = diagnose_file(data_file("stocks.csv"))
    assert all(arm.rejected for arm in found.arms)
    assert found.verdict == NOT_GAUSSIAN
    assert {arm.verdict for arm in found.arms} == {NOT_GAUSSIAN}
    assert found.advice.alpha == 1.0
    assert any("not independent" in note for note in found.notes)
    assert any("'Date'" in note for note in found.notes)


@pytest.mark.parametrize("name", ["light_train.csv", "light_test.csv"])
def test_light_is_not_gaussian_and_not_heavy(name):
    found = diagnose_file(data_file(name))
    assert all(arm.rejected for arm in found.arms)
    assert found.verdict == NOT_GAUSSIAN
    assert not any(arm.heavy for arm in found.arms)


def test_log_returns_of_stocks_are_heavy():
    found = diagnose_file(data_file("stocks.csv"), transform="log-returns")
    assert isinstance(found, Diagnosis)
    assert found.verdict == HEAVY
    assert found.advice.finite_variance
    assert found.pooled.both.hill.index_upper < 8.0


@pytest.mark.parametrize("by", [None, "ageph"])
def test_claims_are_heavy_and_their_variance_is_in_doubt(by):
    found = diagnose_file(data_file("claims.csv"), by=by, value="average")
    assert found.verdict == HEAVY
    assert not found.advice.finite_variance
    assert not found.pooled.both.hill.stable  # the index depends on the number of order statistics


def test_latencies_are_heavy():
    found = diagnose_file(data_file("latency.csv"))
    assert found.verdict == HEAVY
    assert found.pooled.dependence.significant
    assert not found.advice.finite_variance


def spends(rng, n):
    """Spends of which one in a hundred is not zero, at most 499."""
    spent = np.minimum(rng.gamma(2.0, 60.0, n), 499.0)
    return np.where(rng.random(n) < 0.01, spent.round(2), 0.0)


@pytest.mark.parametrize("n", [500, 2_000, 20_000])
def test_sparse_payoffs_are_a_case_of_their_own_and_contradict_nothing(n):
    rng = np.random.default_rng(n)
    found = diagnose({name: spends(rng, n) for name in "abc"})
    assert found.verdict == SPARSE
    assert found.sentence.startswith("Sparse, with no evidence of heavy tails: 9")
    assert "not even a finite mean" not in found.sentence
    assert all("not even" not in diagnose(spends(rng, n)).sentence for _ in range(10))


def test_sparse_payoffs_whose_others_are_heavy_tailed_are_heavy_tailed():
    rng = np.random.default_rng(0)
    values = np.where(rng.random(100_000) < 0.05, rng.pareto(1.2, 100_000), 0.0)
    assert diagnose(values).verdict == HEAVY


def test_every_arm_has_a_robust_mean_with_an_interval_in_the_table():
    rng = np.random.default_rng(0)
    found = diagnose({"a": rng.standard_normal(200), "b": 5.0 + rng.standard_t(2.0, 200)})
    a, b = (arm.mean for arm in found.arms)
    assert a.lower < 0.0 < a.upper < b.lower < 5.0 < b.upper
    assert f"{b.mean:.4g} ({b.lower:.4g}, {b.upper:.4g})" in found.table()
    assert found.pooled.mean is None
