"""Methods that are compared: our optimizer, its variants, the theory's policies, and the rivals.

A method starts a solver for a problem. A solver is asked for parameters, told their payoff, and
recommends at any time, which must not change what it does later. Only the policies of the theory
are told anything about the problem besides its domain: their theorems assume the moment, the
kernel and the norm bound as known, so they get the true ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

import tailproof as tp
from rivals.botorch_solver import BotorchSolver
from rivals.domains import Params
from rivals.optuna_solver import OptunaSolver
from rivals.problems import Problem
from rivals.tailproof_solvers import OptimizerSolver, PolicySolver, RandomSolver

OURS = "tailproof"
CLIP_DEVIATIONS = 3.0  # robust standard deviations at which the clipping rival clips
DEGREES_OF_FREEDOM = 4.0  # of the Student-t likelihood


class Solver(Protocol):
    """One method at work on one problem."""

    def ask(self) -> Params:
        """Return the parameters to evaluate next."""
        ...

    def tell(self, params: Params, value: float) -> None:
        """Take the payoff of the parameters asked last."""
        ...

    def recommend(self) -> Params:
        """Return the recommended parameters, without an effect on later asks."""
        ...


Start = Callable[[Problem, int, int], Solver]  # with a problem, a seed, the number of evaluations


@dataclass(frozen=True)
class Method:
    """A method and how its solver starts.

    Attributes
    ----------
    key, title
        On the command line, and in tables.
    description
        What it is and how it recommends, in a sentence.
    start
        Makes a solver.
    package
        The distribution whose release is the method's version.
    needs
        Modules it needs beyond tailproof's own dependencies.
    robust
        Whether it owes its robustness to a likelihood, which follows the median.
    """

    key: str
    title: str
    description: str
    start: Start
    package: str = "tailproof"
    needs: tuple[str, ...] = ()
    robust: bool = False


def _optimizer(options: tp.Options) -> Start:
    return lambda problem, seed, _: OptimizerSolver(problem.domain, seed, options)


def _policy(policy: str) -> Start:
    return lambda problem, seed, evaluations: PolicySolver(problem, seed, evaluations, policy)


def _random(problem: Problem, seed: int, evaluations: int) -> Solver:
    return RandomSolver(problem.domain, np.random.default_rng(seed))


def _optuna(sampler: str) -> Start:
    return lambda problem, seed, _: OptunaSolver(problem.domain, seed, sampler)


def _botorch(kind: str) -> Start:
    return lambda problem, seed, _: BotorchSolver(problem.domain, seed, kind)


GAUSSIAN = tp.Options(warp="identity", noise="gaussian", corrects_mean=False)
STUDENT_T = tp.Options(warp="identity", noise="student-t", corrects_mean=False)
_OPTUNA = "recommends study.best_trial, the trial with the largest payoff"
_BOTORCH = (
    "hyperparameters are fitted on a schedule, not in every round, and the acquisition function is "
    "maximized with 4 restarts from 256 samples, less than in BoTorch's tutorials; likelihoods and "
    "acquisition functions are computed in closed form, equal to BoTorch's own for the same draws; "
    "recommends the best posterior mean"
)
METHODS: dict[str, Method] = {
    method.key: method
    for method in (
        Method(
            OURS,
            "tailproof",
            "tp.Optimizer with its defaults, told nothing of the noise; recommends the best "
            "posterior mean",
            _optimizer(tp.Options()),
        ),
        Method(
            "gp-ucb",
            "GP-UCB",
            "tp.Optimizer with a Gaussian likelihood, payoffs as they are, without exploratory "
            "evaluations",
            _optimizer(GAUSSIAN),
        ),
        Method(
            "student-t-gp",
            "Student-t GP",
            "tp.Optimizer with the mode under a Student-t likelihood of 4 degrees of freedom, "
            "fixed, without exploratory evaluations",
            _optimizer(STUDENT_T),
            robust=True,
        ),
        Method(
            "tgp-ucb",
            "TGP-UCB (theory)",
            "tp.tgp_ucb with Theorem 1's schedule, told the true moment, kernel and max |f|",
            _policy("tgp-ucb"),
        ),
        Method(
            "ata-gp-ucb",
            "ATA-GP-UCB (theory)",
            "tp.ata_gp_ucb with exact features and Theorem 4's schedule, told the same",
            _policy("ata-gp-ucb"),
        ),
        Method(
            "random",
            "random search",
            "uniform draws; recommends the parameters with the largest payoff",
            _random,
            "numpy",
        ),
        Method(
            "optuna-tpe",
            "Optuna TPE",
            f"TPESampler; {_OPTUNA}",
            _optuna("tpe"),
            "optuna",
            ("optuna",),
        ),
        Method(
            "optuna-gp",
            "Optuna GPSampler",
            f"GPSampler; {_OPTUNA}",
            _optuna("gp"),
            "optuna",
            ("optuna", "torch"),
        ),
        Method(
            "botorch-lognei",
            "BoTorch LogNEI",
            f"SingleTaskGP with qLogNoisyExpectedImprovement; {_BOTORCH}",
            _botorch("lognei"),
            "botorch",
            ("botorch",),
        ),
        Method(
            "botorch-ucb",
            "BoTorch UCB",
            f"SingleTaskGP with UpperConfidenceBound, two standard deviations; {_BOTORCH}",
            _botorch("ucb"),
            "botorch",
            ("botorch",),
        ),
        Method(
            "botorch-rrp",
            "BoTorch RRP",
            "RobustRelevancePursuitSingleTaskGP with qLogNoisyExpectedImprovement; to save time "
            "6 fractions of outliers and 30 iterations a fit, fewer than its default; " + _BOTORCH,
            _botorch("rrp"),
            "botorch",
            ("botorch",),
            robust=True,
        ),
    )
}
OWN = tuple(key for key, method in METHODS.items() if not method.needs)
PEERS = tuple(key for key, method in METHODS.items() if method.needs)


def base_method(name: str) -> str:
    """Return the key of the method in a name such as "optuna-gp: posterior mean".

    What follows the colon is another recommendation that the same run could have given.
    """
    return name.split(": ")[0]


def method_title(name: str) -> str:
    """Return the title of a method, or of another recommendation of it, for tables.

    Examples
    --------
    >>> method_title("optuna-gp: posterior mean"), method_title("random")
    ('Optuna GPSampler: posterior mean', 'random search')
    """
    key = base_method(name)
    return METHODS[key].title + name[len(key) :]
