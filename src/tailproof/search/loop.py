"""`maximize` and `minimize` for a Python function: ask, evaluate, tell, confirm, recommend."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tailproof._util import checks
from tailproof._util.console import LiveDisplay, duration, progress_bar
from tailproof.search.decision.race import candidates_for, confirmation_runs, search_runs
from tailproof.search.decision.stopping import StoppingRule
from tailproof.search.optimizer import Optimizer
from tailproof.search.options import Options
from tailproof.search.results import Result
from tailproof.search.space.configurations import Configurations
from tailproof.search.space.space import Space

if TYPE_CHECKING:
    from rich.table import Table

_ON_ERROR = ("raise", "skip")


def maximize(
    objective: Callable[..., float],
    space: Space | Configurations,
    evaluations: int = 200,
    *,
    seed: int = 0,
    options: Options | None = None,
    baseline: Mapping[str, Any] | None = None,
    confirm: float = 0.2,
    until: float | str | None = None,
    until_better: bool = False,
    level: float = 0.9,
    on_error: str = "raise",
    fail_value: float | None = None,
    avoid_failures: bool = False,
    progress: bool = True,
) -> Result:
    """Evaluate a noisy function and recommend the parameters with the best mean.

    Parameters
    ----------
    objective
        Called with the parameters by name; returns one payoff. A payoff that is no finite number is
        an error of the objective.
    space
        The parameters.
    evaluations
        Number of evaluations at most, failed ones included.
    seed
        Of the optimizer's random numbers; `objective` has its own.
    options
        How the optimizer works.
    baseline
        The configuration in use now; it is evaluated first and now and then, and the recommendation
        says how much better it is.
    confirm
        Share of the evaluations, in [0, 1), that is kept for the few best configurations and the
        baseline, run in turns, before one of them is recommended. 0 for none: then the
        recommendation rests on the model, and may never have been evaluated.
    until
        Stop when further evaluations may gain no more than this with confidence `level`: a number
        in units of the payoff, or a share of the payoff such as "2%".
    until_better
        Stop when a configuration is better than the baseline with confidence `level`.
    level
        Confidence level of these rules and of the recommendation's interval.
    on_error
        "raise": what the objective raises ends the loop; the error's `optimizer` holds what was
        told before. "skip": the evaluation has failed, and the loop goes on.
    fail_value
        Payoff of a failed evaluation; None if it is left out of every mean. Implies "skip". One
        that is worse than all other payoffs by more than their range counts as one that is so by
        it.
    avoid_failures
        Whether the search keeps away from where evaluations probably fail.
    progress
        Whether a terminal shows a bar; elsewhere nothing is written.

    Examples
    --------
    >>> import tailproof as tp
    >>> space = tp.Space(x=tp.Float(0, 1))
    >>> result = tp.maximize(lambda x: -((x - 0.3) ** 2), space, 30, baseline={"x": 0.8})
    >>> round(result.recommendation.params["x"], 1)
    0.3
    >>> result.recommendation.baseline.improvement > 0.2
    True
    """
    optimizer = Optimizer(
        space,
        seed=seed,
        options=options,
        baseline=baseline,
        fail_value=fail_value,
        avoid_failures=avoid_failures,
    )
    rule = StoppingRule.parse(until, until_better, level, has_baseline=baseline is not None)
    return _Loop(objective, optimizer, evaluations, confirm, rule, on_error, progress).run()


def minimize(
    objective: Callable[..., float],
    space: Space | Configurations,
    evaluations: int = 200,
    *,
    seed: int = 0,
    options: Options | None = None,
    baseline: Mapping[str, Any] | None = None,
    confirm: float = 0.2,
    until: float | str | None = None,
    until_better: bool = False,
    level: float = 0.9,
    on_error: str = "raise",
    fail_value: float | None = None,
    avoid_failures: bool = False,
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
    optimizer = Optimizer(
        space,
        seed=seed,
        minimize=True,
        options=options,
        baseline=baseline,
        fail_value=fail_value,
        avoid_failures=avoid_failures,
    )
    rule = StoppingRule.parse(until, until_better, level, has_baseline=baseline is not None)
    return _Loop(objective, optimizer, evaluations, confirm, rule, on_error, progress).run()


class _Loop:
    """Evaluate an objective: search until the budget or a rule ends it, confirm, recommend."""

    def __init__(
        self,
        objective: Callable[..., float],
        optimizer: Optimizer,
        evaluations: int,
        confirm: float,
        rule: StoppingRule,
        on_error: str,
        progress: bool,
    ) -> None:
        if not callable(objective):
            raise ValueError(
                f"`objective` must be a function of the parameters, but got {objective!r}."
            )
        self._objective, self._optimizer, self._rule = objective, optimizer, rule
        self._quiet = not checks.flag("progress", progress)
        self._evaluations = checks.integer("evaluations", evaluations, low=1)
        self._confirm = checks.share("confirm", confirm)
        checks.choice("on_error", on_error, _ON_ERROR)
        self._seconds: list[float] = []
        self._skip = on_error == "skip" or optimizer.fail_value is not None

    def run(self) -> Result:
        """Search, confirm and recommend; what the objective raises takes the optimizer along."""
        optimizer, bar = self._optimizer, _LoopProgress(self._evaluations)
        stopped = "interrupted"
        try:
            with LiveDisplay(bar.render, quiet=self._quiet) as display:
                done, stopped_by = self._search(bar, display)
                rest = confirmation_runs(done, self._confirm, self._evaluations)
                if rest and len(optimizer):
                    optimizer.confirm(candidates_for(rest))
                    for _ in range(rest):
                        self._evaluate(bar, display)
                stopped = stopped_by
        except KeyboardInterrupt:
            pass
        except Exception as error:
            with contextlib.suppress(Exception):  # one that takes no attributes is still raised
                error.optimizer = optimizer  # type: ignore[attr-defined]
                told = f"{len(optimizer)} payoffs were told before"
                error.add_note(f"{told}: they are in `error.optimizer`.")
            raise
        found = optimizer.recommend(level=self._rule.level) if len(optimizer) else None
        interrupted = stopped == "interrupted"
        failures, seconds = optimizer.failures, self._seconds
        return Result(found, optimizer.trials, optimizer, interrupted, stopped, failures, seconds)

    def _search(self, bar: _LoopProgress, display: LiveDisplay) -> tuple[int, str]:
        """Search; return the number of evaluations, and why the search ended."""
        total = search_runs(self._confirm, self._evaluations)
        for done in range(1, total + 1):
            self._evaluate(bar, display)
            look = self._rule.look(self._optimizer)
            if look is not None:
                bar.gain = look.text
                if look.stop:
                    return done, look.stop
        return total, "evaluations"

    def _evaluate(self, bar: _LoopProgress, display: LiveDisplay) -> None:
        """Ask for one trial, call the objective, and tell its payoff or its failure."""
        trial = self._optimizer.ask()
        begin = time.perf_counter()
        try:
            value = self._objective(**trial.params)
            self._optimizer.tell(trial, value)
            self._seconds.append(time.perf_counter() - begin)
        except Exception as error:
            if not self._skip:
                raise
            self._optimizer.fail(trial, f"{type(error).__name__}: {error}")
            bar.advance("failed")
        else:
            bar.advance(f"{float(value):.4g}")
        display.update()


class _LoopProgress:
    """What maximize and minimize show: evaluations done, the last payoff, and the time left."""

    def __init__(self, total: int) -> None:
        """Count from zero of `total` evaluations in `maximize` or `minimize`."""
        self._total, self._done, self._last = total, 0, ""
        self._started = time.monotonic()
        self.gain = ""  # what may still be gained, in words

    def advance(self, payoff: str) -> None:
        """Count one evaluation of the objective."""
        self._done += 1
        each = (time.monotonic() - self._started) / self._done
        self._last = f", last {payoff}, {duration(each * (self._total - self._done))} left"

    def render(self) -> Table:
        """Return what maximize and minimize show: the bar of evaluations and the text beside it."""
        text = f"{self._done}/{self._total}{self._last}"
        return progress_bar(self._done, self._total, f"{text}; {self.gain}" if self.gain else text)
