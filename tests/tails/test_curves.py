"""The data of the diagnostic plots."""

import numpy as np

from tailproof.tails import diagnose


def test_qq_and_mean_excess_show_what_they_should():
    rng = np.random.default_rng(19)
    curves = diagnose(rng.standard_normal(20_000)).pooled.curves
    inner = [(x, y) for x, y in curves.quantiles if abs(x) < 2.5]
    assert all(abs(x - y) < 0.15 for x, y in inner)
    heavy = diagnose(rng.pareto(2.0, 20_000)).pooled.curves.mean_excess
    light = diagnose(rng.random(20_000)).pooled.curves.mean_excess
    assert heavy[len(heavy) // 2][1] > 1.5 * heavy[0][1]
    assert light[len(light) // 2][1] < 0.7 * light[0][1]
