"""The whole loop for a Python function: ask, evaluate, tell, and the result at the end."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from tailproof._util import checks
from tailproof.search.optimizer import Optimizer
from tailproof.search.options import Options
from tailproof.search.space.space import Configurations, Space
from tailproof.search.trials import CompletedTrial, Recommendation

_BAR = 24


@dataclass(frozen=True)
class Result:
    """What a loop found.

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
        return (
            str(self.recommendation) if self.recommendation is not None else "nothing was measured"
        )


def maximize(
    objective: Callable[..., float],
    space: Space | Configurations,
    evaluations: int = 200,
    *,
    seed: int = 0,
    options: Options | None = None,
    progress: bool = True,
) -> Result:
    """Measure `evaluations` configurations and recommend the one with the best mean.

    Parameters
    ----------
    objective
        Called with the parameters by name; returns one payoff. What it raises ends the loop, and so
        does a payoff that is no finite number; the error's `optimizer` holds what was told before.
    space
        What may be chosen.
    evaluations
        How many payoffs to objective.
    seed
        Of everything random here; `objective` keeps its own.
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
    return _run(objective, Optimizer(space, seed=seed, options=options), evaluations, progress)


def minimize(
    objective: Callable[..., float],
    space: Space | Configurations,
    evaluations: int = 200,
    *,
    seed: int = 0,
    options: Options | None = None,
    progress: bool = True,
) -> Result:
    """Measure `evaluations` configurations and recommend the one with the least mean: see maximize.

    Examples
    --------
    >>> import tailproof as tp
    >>> result = tp.minimize(lambda x: (x - 0.3) ** 2, tp.Space(x=tp.Float(0, 1)), 25)
    >>> round(result.recommendation.params["x"], 1)
    0.3
    """
    optimizer = Optimizer(space, seed=seed, minimize=True, options=options)
    return _run(objective, optimizer, evaluations, progress)


def _run(
    objective: Callable[..., float], optimizer: Optimizer, evaluations: int, progress: bool
) -> Result:
    if not callable(objective):
        raise ValueError(
            f"`objective` must be a function of the parameters, but got {objective!r}."
        )
    if not isinstance(progress, bool):
        raise ValueError(f"`progress` must be True or False, but got {progress!r}.")
    evaluations = checks.integer("evaluations", evaluations, low=1)
    bar = _Bar(evaluations, _terminal() if progress else None)
    interrupted = False
    try:
        for done in range(evaluations):
            trial = optimizer.ask()
            value = objective(**trial.params)
            optimizer.tell(trial, value)
            bar.show(done + 1, float(value))
    except KeyboardInterrupt:
        interrupted = True
    except Exception as error:
        with contextlib.suppress(Exception):  # an error that takes no attributes is still raised
            error.optimizer = optimizer  # type: ignore[attr-defined]
            told = f"{len(optimizer)} payoffs were told before"
            error.add_note(f"{told}: they are in `error.optimizer`.")
        raise
    finally:
        bar.close()
    recommendation = optimizer.recommend() if len(optimizer) else None
    return Result(recommendation, optimizer.trials, optimizer, interrupted)


def _terminal() -> TextIO | None:
    """Return the stream of errors if a person sees it: there may be none, or a closed one."""
    stream = sys.stderr
    usable = stream is not None and not stream.closed and stream.isatty()
    return stream if usable else None


class _Bar:
    """One line on a terminal, rewritten ten times a second at most."""

    def __init__(self, total: int, stream: TextIO | None) -> None:
        self._total, self._stream = total, stream
        self._started, self._shown = time.monotonic(), 0.0

    def show(self, done: int, value: float) -> None:
        now = time.monotonic()
        if self._stream is None or (now - self._shown < 0.1 and done < self._total):
            return
        self._shown = now
        full = _BAR * done // self._total
        left = (now - self._started) / done * (self._total - done)
        self._stream.write(
            f"\r[{'#' * full}{'.' * (_BAR - full)}] {done}/{self._total}, last {value:.4g}, "
            f"{left:.0f} s left \x1b[K"
        )
        self._stream.flush()

    def close(self) -> None:
        if self._stream is not None:
            self._stream.write("\n")
            self._stream.flush()
