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
from tailproof.loop import Result, maximize, minimize
from tailproof.optimizer import Optimizer
from tailproof.options import Options
from tailproof.parameters import Choice, Fixed, Float, Int
from tailproof.policies import ata_gp_ucb, gp_ucb, moma_gp_ucb, tgp_ucb
from tailproof.schedules import MomentBound, Own, SubGaussian
from tailproof.search_space import Configurations, Space
from tailproof.spaces import Finite
from tailproof.storage import load
from tailproof.trials import Estimate, Recommended, Trial

__version__ = "0.2.0"

__all__ = [
    "ArmOptimizer",
    "Choice",
    "Configurations",
    "Estimate",
    "Exact",
    "Finite",
    "Fixed",
    "Float",
    "Guarantee",
    "Int",
    "Linear",
    "Matern",
    "MomentBound",
    "Nystrom",
    "Optimizer",
    "Options",
    "Own",
    "Precomputed",
    "Prediction",
    "Product",
    "QuadratureFourier",
    "RandomFourier",
    "Recommendation",
    "Recommended",
    "Result",
    "Scaled",
    "Space",
    "SquaredExponential",
    "SubGaussian",
    "Sum",
    "TheoryWarning",
    "Trial",
    "ata_gp_ucb",
    "gp_ucb",
    "load",
    "maximize",
    "minimize",
    "moma_gp_ucb",
    "tgp_ucb",
]
