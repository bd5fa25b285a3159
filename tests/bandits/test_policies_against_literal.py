"""The policies and the literal transcription choose the same arms and agree in every number.

Well-conditioned kernel matrices (Matern 1/2, lengthscale by instance): 1e-9 relative.

Elsewhere: ridge regression and explicit features still agree to 1e-9, because only K + ridge, and
never K alone, is inverted. Nystrom features need a definition of zero, since they divide by roots
of eigenvalues. The policies leave out directions in which the kernel matrix of ALL arms has an
eigenvalue up to 1e-10 of its largest, the transcription those of K_D. What one keeps and the other
drops moves features by up to sqrt(1e-10) = 1e-5: there the same arms are told to both, and 1e-4 is
asked for.
"""

import numpy as np
import pytest

import instances
import literal
import tailproof as tp
from policy_setups import use_borders, use_played_span
from tailproof.bandits.posterior.nystrom import NystromPosterior

ROUNDS = 300  # of the first and the third instance of each policy
FEWER = 100  # of the others, which differ in arms, kernel and law


def relative(a, b, scale=None):
    scale = np.max(np.abs(b)) if scale is None else scale
    return float(np.max(np.abs(a - b)) / max(scale, 1e-300))


def run(instance, opt, reference, beta_after, *, tolerance, same_choices=True, uniforms=None):
    """Ask and tell, and compare every number in each round."""
    first = uniforms is not None and opt.config.options["schedule"] == "authors"
    for t in range(ROUNDS if instance.seed % 10 in (0, 2) else FEWER):
        mean, variance, beta = reference.mean, reference.variance, beta_after(t)
        prediction = opt.predict()
        std = np.sqrt(np.maximum(variance, 0.0))
        band = np.max(np.abs(mean)) + np.max(std)
        assert prediction.beta == pytest.approx(beta, rel=tolerance), t
        assert relative(prediction.mean, mean, band) < tolerance, t
        assert relative(prediction.std**2, np.maximum(variance, 0.0)) < tolerance, t
        arm = opt.ask_index()
        if t == 0 and opt.config.options["schedule"] == "authors":
            if first:
                assert arm == uniforms.integers(instance.n)
        elif same_choices:
            assert arm == literal.ucb_argmax(mean, variance, beta), t
        payoff = instance.payoff(arm)
        opt.tell_index(arm, payoff)
        if uniforms is None:
            reference.tell(arm, payoff)
        else:
            reference.tell(arm, payoff, uniforms.random(instance.n))


@pytest.mark.parametrize("conditioned", [True, False])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("policy", ["gp_ucb", "tgp_ucb_theory", "tgp_ucb_authors"])
@pytest.mark.filterwarnings("ignore::tailproof.TheoryWarning")
def test_ridge_policies_agree(policy, seed, conditioned):
    instance = instances.Instance(seed, conditioned)
    run(instance, *instances.ridge_pair(instance, policy), tolerance=1e-9)


@pytest.mark.parametrize("conditioned", [True, False])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("kind", "schedule", "variance"),
    [
        ("paper", "theory", None),
        ("paper", "authors", "ii"),
        ("folded", "theory", None),
        ("folded", "authors", None),
        ("random", "theory", None),
        ("exact", "theory", None),
        ("exact", "authors", "i"),
    ],
)
@pytest.mark.filterwarnings("ignore::tailproof.TheoryWarning")
def test_truncation_in_fixed_directions_agrees(kind, schedule, variance, seed, conditioned):
    instance = instances.Instance(seed + 10, conditioned)
    pair = instances.feature_pair(instance, kind, schedule, variance)
    run(instance, *pair, tolerance=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("schedule", "variance", "draws"),
    [("theory", None, None), ("authors", None, None), ("theory", "i", "sites")],
)
def test_nystrom_agrees_with_the_same_draws(schedule, variance, draws, seed):
    instance = instances.Instance(seed + 20, True)
    pair = instances.nystrom_pair(instance, schedule, variance, draws)
    run(instance, *pair, tolerance=1e-9, uniforms=np.random.default_rng(instance.seed))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("schedule", ["theory", "authors"])
@pytest.mark.filterwarnings("ignore::tailproof.TheoryWarning")
def test_nystrom_agrees_as_far_as_an_ill_conditioned_kernel_allows(schedule, seed):
    instance = instances.Instance(seed + 30, False)
    pair = instances.nystrom_pair(instance, schedule, None)
    run(
        instance,
        *pair,
        tolerance=1e-4,
        same_choices=False,
        uniforms=np.random.default_rng(instance.seed),
    )


@pytest.mark.parametrize("seed", range(3))
def test_median_of_means_agrees(seed):
    instance = instances.Instance(seed + 40, True)
    run(instance, *instances.median_pair(instance), tolerance=1e-9)


@pytest.mark.parametrize("conditioned", [True, False])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("policy", ["gp_ucb", "tgp_ucb_theory"])
@pytest.mark.filterwarnings("ignore::tailproof.TheoryWarning")
def test_ridge_policies_on_the_span_of_played_arms_agree(policy, seed, conditioned, monkeypatch):
    use_played_span(monkeypatch)
    instance = instances.Instance(seed + 50, conditioned)
    # Arms whose variance outside the span is rounding are left out of it: sqrt(1e-15) remains.
    tolerance = 1e-9 if conditioned else 1e-7
    pair = instances.ridge_pair(instance, policy)
    assert pair[0].posterior._span is not None
    run(instance, *pair, tolerance=tolerance, same_choices=conditioned)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("schedule", ["theory", "authors"])
def test_nystrom_on_the_span_of_played_arms_agrees(schedule, seed, monkeypatch):
    use_played_span(monkeypatch)
    instance = instances.Instance(seed + 20, True)
    pair = instances.nystrom_pair(instance, schedule, None)
    run(instance, *pair, tolerance=1e-9, uniforms=np.random.default_rng(instance.seed))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("schedule", ["theory", "authors"])
def test_nystrom_by_borders_agrees(schedule, seed, monkeypatch):
    use_borders(monkeypatch)
    take, bordered = NystromPosterior._border, []
    monkeypatch.setattr(NystromPosterior, "_border", lambda *a: (bordered.append(a), take(*a))[1])
    instance = instances.Instance(seed + 20, True)
    pair = instances.nystrom_pair(instance, schedule, None)
    run(instance, *pair, tolerance=1e-9, uniforms=np.random.default_rng(instance.seed))
    assert len(bordered) > 20


def test_linear_features_are_truncation_under_ofu():
    """TOFU (Shao, Yu, King and Lyu, NeurIPS 2018) is Algorithm 2 on phi(x) = x, with m = d."""
    arms = np.random.default_rng(3).uniform(-0.6, 0.6, size=(12, 3))
    alpha, v, bound, horizon, delta, ridge, d = 0.7, 2.0, 1.5, 300, 0.2, 0.8, 3
    opt = tp.ata_gp_ucb(
        tp.Finite(arms),
        tp.Linear(),
        features=tp.LinearFeatures(),
        moment=tp.MomentBound(alpha, v),
        norm_bound=bound,
        horizon=horizon,
        failure_probability=delta,
        ridge=ridge,
        seed=0,
    )
    rng, X, y = np.random.default_rng(5), np.empty((0, d)), np.empty(0)
    for t in range(1, 41):
        arm = opt.ask_index()
        X, y = np.vstack([X, arms[arm]]), np.append(y, 3.0 * rng.standard_t(1.8))
        opt.tell_index(arm, float(y[-1]))
        log = np.log(2 * d * horizon / delta)
        threshold = (v / log) ** (1 / (1 + alpha)) * t ** ((1 - alpha) / (2 * (1 + alpha)))
        V = ridge * np.eye(d) + X.T @ X
        values, vectors = np.linalg.eigh(V)
        root = (vectors / np.sqrt(values)) @ vectors.T
        rows = root @ X.T
        sums = np.where(np.abs(rows * y) <= threshold, rows * y, 0.0).sum(axis=1)
        theta = root @ sums
        width = 4 * np.sqrt(d) * v ** (1 / (1 + alpha)) * log ** (alpha / (1 + alpha))
        width = width * t ** ((1 - alpha) / (2 * (1 + alpha))) + np.sqrt(ridge) * bound
        sizes = np.sqrt(np.einsum("ij,jk,ik->i", arms, np.linalg.inv(V), arms))
        found = opt.predict()
        np.testing.assert_allclose(found.mean, arms @ theta, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.upper - found.mean, width * sizes, rtol=1e-9)
