"""Every policy with every feature map, by name: the cases that the tests of `bandits` share."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

import tailproof as tp
from tailproof.bandits import low_rank
from tailproof.bandits.posterior import nystrom, ridge

ARMS = np.linspace(0.0, 1.0, 9)[:, None]
SPACE = tp.Finite(ARMS)
KERNEL = tp.SquaredExponential(0.2)
LABELS = ("ant", "bee", "cat", "dog")
FEATURES = {
    "exact": tp.Exact(),
    "nystrom": tp.Nystrom(accuracy=0.5, oversampling=3.0),  # chances below one: a random dictionary
    "reduced": tp.Nystrom(accuracy=0.5, reduced=True),
    "qff": tp.QuadratureFourier(nodes=32),
    "qff-paper": tp.QuadratureFourier(nodes=31, folded=False),
    "rff": tp.RandomFourier(frequencies=24),
}
DIRECTIONS = [f"ata_gp_ucb theory {name}" for name in FEATURES]
DIRECTIONS += [f"ata_gp_ucb authors {name}" for name in FEATURES]
DIRECTIONS += [f"moma_gp_ucb heuristic {name}" for name in FEATURES]
SETUPS = ["gp_ucb theory", "tgp_ucb theory", "tgp_ucb authors", *DIRECTIONS]
# Fourier features need a stationary kernel; all others take any.
ANY_KERNEL = [name for name in SETUPS if name.split()[-1] not in ("qff", "qff-paper", "rff")]

every_setup = pytest.mark.parametrize("setup", SETUPS)

# Of the lemmas' tests: random instances by seed, the same in every run.
properties = settings(max_examples=30, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
ridges = st.floats(0.1, 10)


def build(setup, space=SPACE, kernel=KERNEL, **changes):
    """Make the optimizer that a line of SETUPS names; `changes` replace options."""
    policy, schedule, *features = setup.split()
    moment = changes.pop("moment", tp.MomentBound(alpha=0.5, v=4.0))
    options = {"ridge": 1.0, "seed": 5} | changes
    if policy == "gp_ucb":
        options.pop("horizon", None)
        options.setdefault("schedule", tp.SubGaussian(1.0, 1.0, options["ridge"], 0.1))
        return tp.gp_ucb(space, kernel, **options)
    options = {"moment": moment, "norm_bound": 1.0, "horizon": 1000, "schedule": schedule} | options
    if policy == "tgp_ucb":
        return tp.tgp_ucb(space, kernel, **options)
    options.setdefault("features", FEATURES[features[0]] if features else None)
    return getattr(tp, policy)(space, kernel, **options)


def use_borders(monkeypatch):
    """Let borders be used on few arms, for any dictionary, and looked at often."""
    constants = {"REFRESH": 4, "FEWEST_ARMS": 2, "FEW_CHANGES": 0.0, "MOST_TOLD": 3}
    for name, value in (constants | {"FEW_MISSING": 0.9, "MANY_MISSING": 0.9}).items():
        monkeypatch.setattr(nystrom, name, value)


def use_played_span(monkeypatch):
    """Let any number of arms take the form of many arms under a rough kernel."""
    monkeypatch.setattr(low_rank, "DENSE_POINTS", 1)
    monkeypatch.setattr(ridge, "DENSE_POINTS", 1)
    monkeypatch.setattr(low_rank, "FIXED_RANK", 1)


def rounds(count, arms=9, seed=1):
    """Heavy-tailed payoffs at random arms: lists of arm numbers and of payoffs."""
    rng = np.random.default_rng(seed)
    return rng.integers(arms, size=count).tolist(), rng.standard_t(1.5, count).tolist()


def random_arms(rng):
    """A few points of a cube in up to three dimensions."""
    return rng.uniform(size=(int(rng.integers(2, 25)), int(rng.integers(1, 4))))


def feature_matrix(embedding):
    """The features (n, m) with every copy written out."""
    phi = embedding.coordinates @ embedding.directions.T
    return np.repeat(phi, embedding.copies.astype(int), axis=1)


def kernel_error(phi, kernel, X):
    """Largest difference between the kernel of features (n, m) and `kernel` at points (n, d)."""
    return float(np.abs(phi @ phi.T - kernel.matrix(X, X)).max())


def assert_same(first, second):
    """Two optimizers agree bit for bit, at present and in the next rounds."""
    for name in ("mean", "std", "lower", "upper"):
        assert np.array_equal(getattr(first.predict(), name), getattr(second.predict(), name)), name
    assert first.beta == second.beta
    assert first.pending.tolist() == second.pending.tolist()
    for field in ("indices", "payoffs", "points"):
        assert np.array_equal(getattr(first.history, field), getattr(second.history, field)), field
    for payoff in (0.5, -40.0, 1.5):
        arms = first.ask_index(), second.ask_index()
        assert arms[0] == arms[1]
        first.tell_index(arms[0], payoff)
        second.tell_index(arms[1], payoff)
    assert np.array_equal(first.predict().mean, second.predict().mean)
