"""Methods by name: each takes a problem and a seed and returns the cumulative regret, (rounds,)."""

from __future__ import annotations

import warnings

import numpy as np

import tailproof as tp
from bandit import rivals
from bandit.play import arms_played
from bandit.problems import LAWS, Problem, moment_at


def _asked(opt, problem: Problem) -> np.ndarray:
    gaps = problem.means.max() - problem.means
    regret = np.empty(len(problem.noise))
    for t in range(len(regret)):
        arm = opt.ask_index()
        opt.tell_index(arm, problem.payoff(arm, t))
        regret[t] = gaps[arm]
    return np.cumsum(regret)


def bandit(problem, seed):
    return np.cumsum((problem.means.max() - problem.means)[arms_played(problem, seed)])


def ucb1(problem, seed):
    return rivals.ucb1(problem.kind, problem.means, problem.noise, 1.0)


def epsilon_greedy(problem, seed):
    return rivals.epsilon_greedy(problem.kind, problem.means, problem.noise, 0.1, seed)


def thompson(problem, seed):
    """Payoffs are compared with the middle of the means, which mabwiser's user must know."""
    law = LAWS[problem.law]
    threshold = 0.5 if problem.law == "bernoulli" else law.low + 0.5 * law.span
    return rivals.thompson(problem.kind, problem.means, problem.noise, threshold, seed)


def truncated_ucb(problem, seed):
    args = problem.kind, problem.means, problem.noise
    return rivals.truncated_ucb(*args, problem.moment, problem.order - 1.0)


def median_of_means_ucb(problem, seed):
    law = LAWS[problem.law]
    central = max(moment_at(problem.law, m, m) for m in (law.low, law.low + law.span))
    args = problem.kind, problem.means, problem.noise
    return rivals.median_of_means_ucb(*args, central, problem.order - 1.0)


def _policy(make, problem, seed, **options):
    n = len(problem.means)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tp.TheoryWarning)
        opt = make(
            tp.Finite(list(range(n))),
            tp.Precomputed(np.eye(n)),
            moment=tp.MomentBound(problem.order - 1.0, problem.moment),
            norm_bound=float(np.linalg.norm(problem.means)),
            horizon=len(problem.noise),
            failure_probability=0.1,
            schedule="authors",
            seed=seed,
            **options,
        )
    return _asked(opt, problem)


def tgp_ucb(problem, seed):
    return _policy(tp.tgp_ucb, problem, seed)


def ata_gp_ucb(problem, seed):
    return _policy(tp.ata_gp_ucb, problem, seed, features=tp.Exact())


# Name: the method, the most arms and the most rounds it is run with (what costs too much is not).
METHODS = {
    "tailproof.Bandit": (bandit, 100_000, 100_000),
    "UCB1": (ucb1, 100_000, 100_000),
    "Thompson (Beta)": (thompson, 100_000, 100_000),
    "epsilon-greedy": (epsilon_greedy, 100_000, 100_000),
    "truncated UCB": (truncated_ucb, 100_000, 100_000),
    "median-of-means UCB": (median_of_means_ucb, 100_000, 100_000),
    "tgp_ucb": (tgp_ucb, 60, 10_000),
    "ata_gp_ucb": (ata_gp_ucb, 60, 10_000),
}
