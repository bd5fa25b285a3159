"""How often a stopping rule stops too early, and after how many trials.

    python benchmarks/stopping.py --seeds 4 --noise 0.3
    python benchmarks/stopping.py --quick
    python benchmarks/stopping.py --seeds 2 --optuna     # beside Optuna's terminator: needs torch

Runs the default optimizer on problems of the comparison with rivals, whose range is 1, with the
noise of each law multiplied by `--noise`. At every look of the rule it compares what may still be
gained, by the rule, with the true regret of what is recommended. For limits between 0.05 and 0.4 of
the range it prints how many runs stop within the budget, the share of these whose true regret
exceeds the limit (nominal: 1 - level), the mean regret, the one that the same runs have after all
trials, and the median number of trials; and the same of fixed budgets. Optuna's terminator stops
when its bound on the regret falls below the limit, and recommends the best observed trial.
"""

from __future__ import annotations

import argparse
import math
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

import numpy as np

import tailproof as tp
from reporting import markdown_table
from rivals.domains import Params
from rivals.methods import OURS
from rivals.problems import FAMILIES, Problem
from rivals.run import RunSpec
from tailproof._util.threads import single_thread
from tailproof.search.decision.stopping import StoppingRule, Until, look_due

OBJECTIVES = ("rkhs", "branin", "ackley4")
LAWS = ("gaussian", "t3", "pareto")
LIMITS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
FIXED = (40, 80)  # and all evaluations


@dataclass
class Course:
    """One run: at each look the number of payoffs, the upper end of the gain, the true regret."""

    payoffs: list[int] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    regret: list[float] = field(default_factory=list)

    looks: int = 2  # in a row at which a limit must hold

    def stop(self, limit: float) -> tuple[int, float] | None:
        """Return payoffs and regret where a limit holds, for `looks` looks in a row.

        Examples
        --------
        >>> Course([20, 22, 24, 26], [0.2, 0.5, 0.2, 0.1], [0.3, 0.3, 0.2, 0.1]).stop(0.25)
        (26, 0.1)
        """
        held = 0
        for n, upper, regret in zip(self.payoffs, self.upper, self.regret, strict=True):
            held = held + 1 if upper <= limit else 0
            if held == self.looks:
                return n, regret
        return None

    def at(self, budget: int) -> tuple[int, float]:
        """Return payoffs and regret at the last look within a budget."""
        last = max((i for i, n in enumerate(self.payoffs) if n <= budget), default=0)
        return self.payoffs[last], self.regret[last]


def measure(spec: RunSpec, noise: float, level: float) -> Course:
    """Run the default optimizer and return its course."""
    problem = spec.problem()
    course = Course()
    # A rule that never holds: its looks are those of every rule.
    rule = StoppingRule(Until(1e-12, relative=False), until_better=False, level=level)
    with single_thread():
        optimizer = tp.Optimizer(problem.domain.space, seed=spec.solver_seed())
        for evaluation in range(1, spec.evaluations + 1):
            trial = optimizer.ask()
            optimizer.tell(trial, _payoff(spec, problem, trial.params, noise, evaluation))
            look = rule.look(optimizer)
            if look is not None:
                found = optimizer.recommend().params
                course.payoffs.append(evaluation)
                course.upper.append(look.gain.upper if look.gain.known else math.inf)
                course.regret.append(problem.objective.best - problem.objective.value(found))
    return course


def _payoff(
    spec: RunSpec, problem: Problem, params: Params, noise: float, evaluation: int
) -> float:
    """Return a payoff whose noise is multiplied by `noise`."""
    mean = problem.objective.value(params)
    return mean + noise * (problem.payoff(params, spec.noise(evaluation)) - problem.shift - mean)


def measure_optuna(spec: RunSpec, noise: float, _: float) -> Course:
    """Run Optuna's GPSampler and return the course of its terminator's bound on the regret."""
    import optuna
    from optuna.terminator import RegretBoundEvaluator

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    problem, course = spec.problem(), Course(looks=1)
    evaluator = RegretBoundEvaluator(seed=spec.seed)
    sampler = optuna.samplers.GPSampler(seed=spec.seed, deterministic_objective=False)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    last = 0
    with single_thread():
        for evaluation in range(1, spec.evaluations + 1):
            trial = study.ask()
            params = {
                name: trial.suggest_float(name, p.low, p.high, log=p.log)
                if isinstance(p, tp.Float)
                else trial.suggest_int(name, p.low, p.high, log=p.log)
                for name, p in problem.domain.space.parameters.items()
            }
            study.tell(trial, _payoff(spec, problem, params, noise, evaluation))
            if look_due(evaluation, last):
                last = evaluation
                course.payoffs.append(evaluation)
                bound = evaluator.evaluate(study.trials, study_direction=study.direction)
                course.upper.append(float(bound))
                best = problem.objective.value(study.best_params)
                course.regret.append(problem.objective.best - best)
    return course


def table(courses: list[Course], evaluations: int) -> list[str]:
    """Return the lines of the table: rules of several limits, and fixed budgets."""
    rows = []
    for limit in LIMITS:
        stops = [stop for course in courses if (stop := course.stop(limit)) is not None]
        broken = [regret > limit for _, regret in stops]
        rest = [c.at(evaluations)[1] for c in courses if c.stop(limit) is not None]
        rows.append(_row(f"until {limit:g}", len(courses), stops, broken, rest))
    for budget in [*(b for b in FIXED if b < evaluations), evaluations]:
        ends = [course.at(budget) for course in courses]
        rows.append(_row(f"{budget} trials", len(courses), ends, None, None))
    header = ["rule", "stopped", "too early", "mean regret", "with all trials", "median trials"]
    return markdown_table(header, rows)


def _row(
    name: str,
    runs: int,
    ends: list[tuple[int, float]],
    broken: list[bool] | None,
    with_all: list[float] | None,
) -> tuple[str, ...]:
    """Return a row: `with_all` are the regrets that the same runs have after all trials."""
    if not ends:
        return name, f"0 of {runs}", "-", "-", "-", "-"
    share = "-" if broken is None else f"{np.mean(broken):.1%}"
    regret, trials = np.mean([r for _, r in ends]), np.median([n for n, _ in ends])
    rest = "-" if with_all is None else f"{np.mean(with_all):.3f}"
    return name, f"{len(ends)} of {runs}", share, f"{regret:.3f}", rest, f"{trials:.0f}"


def main() -> None:
    """Run the simulation and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--evaluations", type=int, default=160)
    parser.add_argument("--noise", type=float, default=0.3)
    parser.add_argument("--family", choices=FAMILIES, default="measure")
    parser.add_argument("--objectives", nargs="+", default=OBJECTIVES)
    parser.add_argument("--laws", nargs="+", default=LAWS)
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--optuna", action="store_true", help="Optuna's terminator as well")
    parser.add_argument(
        "--quick", action="store_true", help="one seed, 40 evaluations, one problem"
    )
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seeds, arguments.evaluations = 1, 40
        arguments.objectives, arguments.laws = OBJECTIVES[:1], LAWS[:1]
    specs = [
        RunSpec(objective, law, OURS, seed, arguments.evaluations, arguments.family)
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds)
        for objective in arguments.objectives
        for law in arguments.laws
    ]
    noise, level = [arguments.noise] * len(specs), [arguments.level] * len(specs)
    names = f"{len(specs)} runs of {arguments.evaluations} trials, noise {arguments.noise:g}"
    with ProcessPoolExecutor(arguments.workers) as pool:
        print(f"tailproof, nominal {1.0 - arguments.level:.0%} too early; {names}")
        print(
            "\n".join(table(list(pool.map(measure, specs, noise, level)), arguments.evaluations)),
            flush=True,
        )
        if arguments.optuna:
            print("\nOptuna: GPSampler and RegretBoundEvaluator")
            courses = list(pool.map(measure_optuna, specs, noise, level))
            print("\n".join(table(courses, arguments.evaluations)))


if __name__ == "__main__":
    main()
