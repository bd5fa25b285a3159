"""`maximize` and `minimize` for a Python function: ask, evaluate, tell, recommend."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailproof._util import checks
from tailproof._util.console import LiveDisplay, duration, progress_bar
from tailproof.search.optimizer import Optimizer
from tailproof.search.options import Options
from tailproof.search.space.space import Configurations, Space
from tailproof.search.trials import CompletedTrial, Recommendation

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Result:
    """The outcome of `maximize` or `minimize`.

    Attributes
    ----------
    recommendation
        The configuration with the best robust mean, with its interval; None if nothing was told.
    trials
        Every payoff told, in order.
    optimizer
        To go on with: ask, tell, predict, save.
    interrupted
        Whether Ctrl-C ended the loop early.
    """

    recommendation: Recommendation | None
    trials: list[CompletedTrial]
    optimizer: Optimizer
    interrupted: bool

    def __str__(self) -> str:
        return "nothing was measured" if self.recommendation is None else str(self.recommendation)


def maximize(
    objective: Callable[..., float],
    space: Space | Configurations,
    evaluations: int = 200,
    *,
    seed: int = 0,
    options: Options | None = None,
    progress: bool = True,
) -> Result:
    """Evaluate a noisy function and recommend the parameters with the best mean.

    Parameters
    ----------
    objective
        Called with the parameters by name; returns one payoff. What it raises ends the loop, and so
        does a payoff that is no finite number; the error's `optimizer` holds what was told before.
    space
        The parameters.
    evaluations
        Number of payoffs.
    seed
        Of the optimizer's random numbers; `objective` has its own.
    options
        How the optimizer works.
    progress
        Whether a terminal shows a bar; elsewhere nothing is written.

    Examples
    --------
    >>> import tailproof as tp
    >>> result = tp.maximize(lambda x: -((x - 0.3) ** 2), tp.Space(x=tp.Float(0, 1)), 25)
    >>> round(result.recommendation.params["x"], 1)
    0.3
    """
    return _run_loop(objective, Optimizer(space, seed=seed, options=options), evaluations, progress)


def minimize(
    objective: Callable[..., float],
    space: Space | Configurations,
    evaluations: int = 200,
    *,
    seed: int = 0,
    options: Options | None = None,
    progress: bool = True,
) -> Result:
    """Evaluate a noisy function and recommend the parameters with the least mean: see `maximize`.

    Examples
    --------
    >>> import tailproof as tp
    >>> result = tp.minimize(lambda x: (x - 0.3) ** 2, tp.Space(x=tp.Float(0, 1)), 25)
    >>> round(result.recommendation.params["x"], 1)
    0.3
    """
    optimizer = Optimizer(space, seed=seed, minimize=True, options=options)
    return _run_loop(objective, optimizer, evaluations, progress)


def _run_loop(
    objective: Callable[..., float], optimizer: Optimizer, evaluations: int, progress: bool
) -> Result:
    if not callable(objective):
        raise ValueError(
            f"`objective` must be a function of the parameters, but got {objective!r}."
        )
    progress = checks.flag("progress", progress)
    evaluations = checks.integer("evaluations", evaluations, low=1)
    bar = _LoopProgress(evaluations)
    interrupted = False
    try:
        with LiveDisplay(bar.render, quiet=not progress) as display:
            for _ in range(evaluations):
                trial = optimizer.ask()
                value = objective(**trial.params)
                optimizer.tell(trial, value)
                bar.advance(float(value))
                display.update()
    except KeyboardInterrupt:
        interrupted = True
    except Exception as error:
        with contextlib.suppress(Exception):  # an error that takes no attributes is still raised
            error.optimizer = optimizer  # type: ignore[attr-defined]
            told = f"{len(optimizer)} payoffs were told before"
            error.add_note(f"{told}: they are in `error.optimizer`.")
        raise
    recommendation = optimizer.recommend() if len(optimizer) else None
    return Result(recommendation, optimizer.trials, optimizer, interrupted)


class _LoopProgress:
    """What maximize and minimize show: evaluations done, the last payoff, and the time left."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._last = total, 0, ""
        self._started = time.monotonic()

    def advance(self, payoff: float) -> None:
        """Count one evaluation of the objective."""
        self._done += 1
        each = (time.monotonic() - self._started) / self._done
        self._last = f", last {payoff:.4g}, {duration(each * (self._total - self._done))} left"

    def render(self) -> Table:
        """Return the bar of evaluations and the text beside it."""
        return progress_bar(self._done, self._total, f"{self._done}/{self._total}{self._last}")
