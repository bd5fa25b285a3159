"""Random problem instances: for each policy the optimizer beside its transcription."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

import literal
import tailproof as tp

SHORT = 0.15  # lengthscale (in units of the cube) that keeps 60 random arms well conditioned


@dataclass
class Instance:
    """Arms, kernel and payoffs; `condition` is the kernel matrix's condition number."""

    seed: int
    conditioned: bool

    def __post_init__(self):
        self.rng = np.random.default_rng([self.seed, self.conditioned])
        self.n = int(self.rng.integers(2, 61))
        self.d = int(self.rng.integers(1, 4))
        self.alpha = float(self.rng.uniform(0.05, 1.0))
        self.ridge = float(10 ** self.rng.uniform(-1, 1))
        self.v = float(10 ** self.rng.uniform(-0.5, 1))
        self.norm_bound = float(self.rng.uniform(0.5, 3))
        self.horizon = 300
        self.delta = 0.1
        self.arms = self.rng.uniform(size=(self.n, self.d))
        self.space = tp.Finite(self.arms)
        self.f = self.rng.normal(size=self.n)

    def any_kernel(self):
        """A kernel of any kind, well conditioned or not as the instance says."""
        if self.conditioned:
            scales = tuple(self.rng.uniform(0.5, 1.5, self.d))
            return [
                tp.Matern(0.5, 0.5),
                tp.Matern(0.5, scales),
                0.7 * tp.Matern(0.5, 0.4) + 0.3 * tp.Matern(0.5, 0.1),
                tp.Matern(0.5, 0.6) * tp.Matern(0.5, scales),
                tp.Matern(0.8, 0.3),
            ][self.seed % 5]
        return [
            tp.SquaredExponential(0.4),
            tp.Matern(2.5, 0.5),
            0.3 * tp.Linear() + 0.2 * tp.Matern(1.5, 0.5),
            tp.Matern(3.3, 0.4) * tp.SquaredExponential(0.5),
            0.3 * tp.Linear(),
        ][self.seed % 5]

    def gram(self, kernel):
        return kernel.matrix(self.arms, self.arms)

    def payoff(self, arm):
        return float(self.f[arm] + 0.5 * self.rng.standard_t(1.3))

    def setting(self):
        return {
            "moment": tp.MomentBound(self.alpha, self.v),
            "norm_bound": self.norm_bound,
            "horizon": self.horizon,
            "failure_probability": self.delta,
            "ridge": self.ridge,
        }

    @property
    def moments(self):
        return {"alpha": self.alpha, "v": self.v}

    @property
    def theory(self):
        return {"B": self.norm_bound, "ridge": self.ridge, "delta": self.delta, **self.moments}

    @property
    def authors(self):
        return {"B": self.norm_bound, "ridge": self.ridge, **self.moments}


def ridge_pair(instance, policy):
    """GP-UCB or TGP-UCB, and their transcription with its beta."""
    i, kernel = instance, instance.any_kernel()
    if policy == "gp_ucb":
        schedule = tp.SubGaussian(0.7, i.norm_bound, i.ridge, i.delta)
        opt = tp.gp_ucb(i.space, kernel, schedule, ridge=i.ridge, seed=i.seed)
        reference = literal.LiteralRidge(
            K=i.gram(kernel), ridge=i.ridge, truncation=lambda t: math.inf
        )

        def beta(t):
            inner = reference.log_det + 2 * math.log(1 / i.delta)
            return i.norm_bound + 0.7 / math.sqrt(i.ridge) * math.sqrt(inner)

        return opt, reference, beta
    schedule = policy.removeprefix("tgp_ucb_")
    opt = tp.tgp_ucb(i.space, kernel, schedule=schedule, seed=i.seed, **i.setting())
    truncation = (
        literal.theorem1_truncation if schedule == "theory" else literal.authors_tgp_truncation
    )
    reference = literal.LiteralRidge(
        K=i.gram(kernel), ridge=i.ridge, truncation=partial(truncation, **i.moments)
    )
    if schedule == "theory":
        return opt, reference, lambda t: literal.theorem1_beta(t, reference.log_det, **i.theory)
    return opt, reference, _authors(i, partial(literal.authors_tgp_beta, **i.authors), ahead=1)


def _authors(instance, beta, ahead):
    """The authors' beta multiplies sigma / sqrt(lambda), and some are taken one round ahead."""

    def converted(t):
        if t + ahead == 0:
            return instance.norm_bound
        return beta(t + ahead) / math.sqrt(instance.ridge)

    return converted


def feature_pair(instance, kind, schedule, variance):
    """ATA-GP-UCB with fixed features, and its transcription with its beta."""
    i = instance
    short = tp.SquaredExponential(SHORT if i.conditioned else 0.5)
    if kind == "exact":
        kernel, features = i.any_kernel(), tp.Exact()
        values, vectors = np.linalg.eigh(i.gram(kernel))
        keep = values > 1e-10 * values[-1]
        Phi = vectors[:, keep] * np.sqrt(values[keep])
    elif kind == "random":
        kernel, features = short, tp.RandomFourier(15)
        omega = np.random.default_rng(i.seed).standard_normal((15, i.d)) / kernel.lengthscale
        angle = i.arms @ omega.T
        Phi = np.concatenate([np.cos(angle), np.sin(angle)], axis=1) / math.sqrt(15)
    else:
        kernel = tp.SquaredExponential(0.6)
        nodes = {1: 17, 2: 8, 3: 4}[i.d]
        features = tp.QuadratureFourier(nodes, folded=kind == "folded")
        Phi = features.features(kernel, i.arms)
    opt = tp.ata_gp_ucb(
        i.space,
        kernel,
        features=features,
        schedule=schedule,
        variance=variance,
        seed=i.seed,
        **i.setting(),
    )
    form = variance or ("ii" if kind == "exact" else "i")
    m = Phi.shape[1]
    scale = {"delta": i.delta, "T": i.horizon}
    if schedule == "authors":
        truncation = partial(literal.authors_qff_truncation, T=i.horizon, **i.moments)
        beta = _authors(
            i, lambda t: literal.authors_qff_beta(t, m, T=i.horizon, **i.authors), ahead=1
        )
    elif kind == "exact":
        truncation = partial(literal.theorem4_truncation, **scale, **i.moments)

        def beta(t):
            return literal.theorem4_beta(t, m, T=i.horizon, eps=0.0, **i.theory)
    else:
        truncation = partial(literal.theorem3_truncation, **scale, **i.moments)

        def beta(t):
            return literal.theorem3_beta(t, m, T=i.horizon, **i.theory)

    reference = literal.LiteralFeatures(
        Phi=Phi,
        k_diag=kernel.diagonal(i.arms),
        ridge=i.ridge,
        truncation=truncation,
        variance=form,
    )
    return opt, reference, beta


def nystrom_pair(instance, schedule, variance, draws=None):
    """ATA-GP-UCB with Nystrom features, and its transcription with its beta."""
    i, kernel = instance, instance.any_kernel()
    # An accuracy this low makes q small enough for dictionaries that leave points out.
    eps = 0.9
    q = 4.0 if draws or i.seed % 2 else None
    features = tp.Nystrom(eps, oversampling=q, draws=draws)
    opt = tp.ata_gp_ucb(
        i.space,
        kernel,
        features=features,
        schedule=schedule,
        variance=variance,
        seed=i.seed,
        **i.setting(),
    )
    theory = schedule == "theory"
    if q is None:
        q = (
            literal.theorem4_oversampling(delta=i.delta, T=i.horizon, eps=eps)
            if theory
            else literal.authors_oversampling(T=i.horizon, eps=eps)
        )
    if theory:
        truncation = partial(literal.theorem4_truncation, delta=i.delta, T=i.horizon, **i.moments)
    else:
        truncation = partial(literal.authors_nystrom_truncation, T=i.horizon, **i.moments)
    reference = literal.LiteralNystrom(
        K=i.gram(kernel),
        ridge=i.ridge,
        oversampling=q,
        truncation=truncation,
        variance=variance or "ii",
        once_per_arm=draws == "sites" if draws else not theory,
        leverage="variance" if theory else "variance/ridge",
        cutoff=1e-10,
    )
    if theory:

        def beta(t):
            return literal.theorem4_beta(t, reference.directions, T=i.horizon, eps=eps, **i.theory)
    else:
        beta = _authors(
            i,
            lambda t: literal.authors_nystrom_beta(
                t, reference.directions, T=i.horizon, **i.authors
            ),
            ahead=0,
        )
    return opt, reference, beta


def median_pair(instance):
    """MoMA-GP-UCB with a custom schedule, and its transcription."""
    i = instance
    kernel = tp.SquaredExponential(0.6)
    features = tp.QuadratureFourier({1: 17, 2: 6, 3: 3}[i.d], folded=False)
    opt = tp.moma_gp_ucb(
        i.space,
        kernel,
        features=features,
        schedule=tp.CustomSchedule(1.5),
        blocks=8,
        ridge=i.ridge,
        seed=0,
    )
    reference = literal.LiteralMedianOfMeans(
        Phi=features.features(kernel, i.arms),
        k_diag=kernel.diagonal(i.arms),
        ridge=i.ridge,
        most=8,
        variance="i",
    )
    return opt, reference, lambda t: 1.5
