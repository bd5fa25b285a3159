"""tailproof: find the choice with the best mean payoff when single payoffs are heavy-tailed.

Public names load the module that defines them when they are first used, so that importing the
package is quick and the practical optimizer never loads numba.
"""

from __future__ import annotations

import importlib

# As in `typing`, whose import takes most of the time before Ctrl-C is handled: see `cli`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tailproof.bandits.arm_optimizer import ArmOptimizer
    from tailproof.bandits.arms import Box, Finite
    from tailproof.bandits.bandit import Bandit
    from tailproof.bandits.box_optimizer import BoxOptimizer
    from tailproof.bandits.features import (
        Exact,
        LinearFeatures,
        Nystrom,
        QuadratureFourier,
        RandomFourier,
    )
    from tailproof.bandits.guarantees import Guarantee, TheoryWarning
    from tailproof.bandits.huber_policies import heavy_oful, one_pass_huber
    from tailproof.bandits.policies import ata_gp_ucb, gp_ucb, moma_gp_ucb, rcgp_ucb, tgp_ucb
    from tailproof.bandits.schedules import CustomSchedule, MomentBound, SubGaussian
    from tailproof.comparison.analysis import compare
    from tailproof.kernels import (
        Columns,
        Linear,
        Matern,
        Precomputed,
        Product,
        Scaled,
        SquaredExponential,
        Sum,
    )
    from tailproof.search.loop import maximize, minimize
    from tailproof.search.optimizer import Optimizer
    from tailproof.search.options import Options
    from tailproof.search.results import Result
    from tailproof.search.space.configurations import Configurations
    from tailproof.search.space.parameters import Choice, Fixed, Float, Int
    from tailproof.search.space.space import Space
    from tailproof.search.trials import Trial
    from tailproof.storage import load

__version__: str  # see `_read_version`

_MODULES = {
    "bandits.arms": ("Box", "Finite"),
    "bandits.bandit": ("Bandit",),
    "bandits.box_optimizer": ("BoxOptimizer",),
    "bandits.features": (
        "Exact",
        "LinearFeatures",
        "Nystrom",
        "QuadratureFourier",
        "RandomFourier",
    ),
    "bandits.guarantees": ("Guarantee", "TheoryWarning"),
    "bandits.arm_optimizer": ("ArmOptimizer",),
    "bandits.huber_policies": ("heavy_oful", "one_pass_huber"),
    "bandits.policies": ("ata_gp_ucb", "gp_ucb", "moma_gp_ucb", "rcgp_ucb", "tgp_ucb"),
    "bandits.schedules": ("CustomSchedule", "MomentBound", "SubGaussian"),
    "comparison.analysis": ("compare",),
    "kernels": (
        "Columns",
        "Linear",
        "Matern",
        "Precomputed",
        "Product",
        "Scaled",
        "SquaredExponential",
        "Sum",
    ),
    "search.loop": ("maximize", "minimize"),
    "search.optimizer": ("Optimizer",),
    "search.options": ("Options",),
    "search.results": ("Result",),
    "search.space.configurations": ("Configurations",),
    "search.space.parameters": ("Choice", "Fixed", "Float", "Int"),
    "search.space.space": ("Space",),
    "search.trials": ("Trial",),
    "storage": ("load",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "ArmOptimizer",
    "Bandit",
    "Box",
    "BoxOptimizer",
    "Choice",
    "Columns",
    "Configurations",
    "CustomSchedule",
    "Exact",
    "Finite",
    "Fixed",
    "Float",
    "Guarantee",
    "Int",
    "Linear",
    "LinearFeatures",
    "Matern",
    "MomentBound",
    "Nystrom",
    "Optimizer",
    "Options",
    "Precomputed",
    "Product",
    "QuadratureFourier",
    "RandomFourier",
    "Result",
    "Scaled",
    "Space",
    "SquaredExponential",
    "SubGaussian",
    "Sum",
    "TheoryWarning",
    "Trial",
    "ata_gp_ucb",
    "compare",
    "gp_ucb",
    "heavy_oful",
    "load",
    "maximize",
    "minimize",
    "moma_gp_ucb",
    "one_pass_huber",
    "plot",
    "rcgp_ucb",
    "tgp_ucb",
]


def _read_version() -> str:
    """Return the version, which the build writes to a file of its own.

    A source tree that was never installed has no such file; then the installed one's is returned.
    """
    try:
        return str(importlib.import_module("tailproof._version").__version__)
    except ModuleNotFoundError:
        metadata = importlib.import_module("importlib.metadata")
        try:
            return str(metadata.version("tailproof"))
        except metadata.PackageNotFoundError:
            return "0+unknown"


def __getattr__(name: str) -> Any:
    """Load a public name of tailproof, from the module that defines it, on first use."""
    if name == "__version__":
        globals()[name] = _read_version()
        return globals()[name]
    if name == "plot":
        return importlib.import_module("tailproof.plot")
    if name not in _HOMES:
        raise AttributeError(f"module 'tailproof' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tailproof.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names of tailproof."""
    return sorted([*__all__, "__version__"])
