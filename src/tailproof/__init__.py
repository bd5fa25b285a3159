"""tailproof: the choice with the best mean payoff, when single payoffs are heavy-tailed."""

from tailproof.arm_optimizer import ArmOptimizer, Prediction, Recommendation
from tailproof.features import Exact, Nystrom, QuadratureFourier, RandomFourier
from tailproof.guarantees import Guarantee, TheoryWarning
from tailproof.kernels import (
    Linear,
    Matern,
    Precomputed,
    Product,
    Scaled,
    SquaredExponential,
    Sum,
)
from tailproof.policies import ata_gp_ucb, gp_ucb, moma_gp_ucb, tgp_ucb
from tailproof.schedules import MomentBound, Own, SubGaussian
from tailproof.spaces import Finite
from tailproof.storage import load

__version__ = "0.1.0"

__all__ = [
    "ArmOptimizer",
    "Exact",
    "Finite",
    "Guarantee",
    "Linear",
    "Matern",
    "MomentBound",
    "Nystrom",
    "Own",
    "Precomputed",
    "Prediction",
    "Product",
    "QuadratureFourier",
    "RandomFourier",
    "Recommendation",
    "Scaled",
    "SquaredExponential",
    "SubGaussian",
    "Sum",
    "TheoryWarning",
    "ata_gp_ucb",
    "gp_ucb",
    "load",
    "moma_gp_ucb",
    "tgp_ucb",
]
