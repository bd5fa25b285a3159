"""The practical optimizer: ask, tell, recommend over a mixed space, nothing to know in advance.

Everything it does follows from the space, the options, the seed and the payoffs told, in their
order: what is kept in between saves time only. So it can be saved at any moment, or rebuilt from a
record of its trials, and goes on bit for bit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof import storage
from tailproof._util import checks
from tailproof.search.acquisition.designs import exploratory_point, random_point, sobol_point
from tailproof.search.acquisition.optimize import maximize_ucb
from tailproof.search.model.fit import fit_model, next_refit
from tailproof.search.model.parameters import ModelConfig, ModelParameters, Observations
from tailproof.search.model.posterior import Posterior, condition, interval
from tailproof.search.options import Options, kernel_layout
from tailproof.search.space.context import ContextSpace
from tailproof.search.space.parameters import Float
from tailproof.search.space.space import Configurations, Space
from tailproof.search.trials import CompletedTrial, Prediction, Recommendation, Trial

Array = NDArray[np.float64]
AnySpace = Space | Configurations | ContextSpace

# Every fourth fit does not start from the one before: a bad start is overcome, and a rebuilt
# optimizer has at most four fits to repeat.
_FRESH = 4
# Of pending trials about one in so many may be this close to each other, as a share of the cube's
# side: pending trials do not move the mean, which would send all of them to one place.
_SHARE, _CLOSE = 4, 0.01
# Fewest payoffs whose tails are diagnosed.
_FEWEST_FOR_TAILS = 20


class Optimizer:
    """Find the configuration with the best mean payoff, knowing nothing in advance.

    Parameters
    ----------
    space
        A `Space` of parameters, or `Configurations`, a finite list.
    seed
        Of everything random: the same seed and the same payoffs give the same trials.
    minimize
        Whether payoffs are costs.
    options
        How it works; the defaults suit most problems.

    Examples
    --------
    >>> import tailproof as tp
    >>> space = tp.Space(x=tp.Float(0, 1), n=tp.Int(1, 4))
    >>> opt = tp.Optimizer(space, seed=0)
    >>> for _ in range(20):
    ...     trial = opt.ask()
    ...     opt.tell(trial, trial.params["n"] - (trial.params["x"] - 0.5) ** 2)
    >>> opt.recommend().params["n"]
    4
    """

    def __init__(
        self,
        space: Space | Configurations,
        *,
        seed: int = 0,
        minimize: bool = False,
        options: Options | None = None,
    ) -> None:
        if not isinstance(space, Space | Configurations):
            raise ValueError(f"`space` must be a Space or Configurations, but got {space!r}.")
        if options is not None and not isinstance(options, Options):
            raise ValueError(f"`options` must be Options(...), but got {options!r}.")
        self.space, self.options = space, options or Options()
        self.seed = checks.integer("seed", seed, low=0)
        self.minimize = checks.flag("minimize", minimize)
        self._config = ModelConfig(
            kernel_layout(space, self.options),
            self.options.warp,
            self.options.noise,
            self.options.corrects_mean,
        )
        self._n_initial = self.options.n_initial or max(4, space.dimension + 1)
        self._trials: dict[int, tuple[Trial, Array]] = {}
        self._pending: dict[int, None] = {}
        self._completed: dict[int, CompletedTrial] = {}
        self._positions: list[Array] = []  # of the completed trials
        self._model: ModelParameters | None = None
        self._posterior: tuple[Any, Posterior] | None = None

    def __len__(self) -> int:
        return len(self._completed)

    def __repr__(self) -> str:
        aim = "minimize" if self.minimize else "maximize"
        return f"<Optimizer: {aim} over {self.space!r}, {len(self)} payoffs>"

    @property
    def trials(self) -> list[CompletedTrial]:
        """The payoffs told, in the order they came."""
        return [CompletedTrial(d.trial._copy(), d.value) for d in self._completed.values()]

    @property
    def pending(self) -> list[Trial]:
        """Trials asked, neither told nor withdrawn."""
        return [self._trials[number][0]._copy() for number in self._pending]

    @property
    def clipped(self) -> NDArray[np.bool_]:
        """Which payoffs of `trials` have a residual that the robust loss limits, (n,)."""
        if not self._completed:
            return np.zeros(0, dtype=np.bool_)
        return self._condition_model([]).clipped.copy()

    def ask(self, *, context: Mapping[str, Any] | None = None) -> Trial:
        """Return the next trial; it counts as pending until it is told or withdrawn.

        Ask several times for a batch: pending trials are taken into account.

        Parameters
        ----------
        context
            Values of parameters that are given, not chosen, such as the hour or the client: the
            trial has them, and the others are chosen for them.
        """
        number, space = len(self._trials), self._search_space(context)
        pending = [self._trials[waiting][1] for waiting in self._pending]
        u = self._new_point(number, pending, space, self.seed)
        trial = Trial(number, self._params_at(u, context))
        self._trials[number] = (trial, u)
        self._pending[number] = None
        return trial._copy()

    def propose(
        self,
        number: int,
        pending: Iterable[Mapping[str, Any]] = (),
        *,
        context: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> dict[str, Any]:
        """Return what would be asked as trial `number` while `pending` are running; change nothing.

        For programs that keep trials elsewhere: it depends on the payoffs told, in their order, on
        `pending`, `number`, `context` and the seed alone. `seed` replaces the optimizer's own.
        """
        number, space = checks.integer("number", number, low=0), self._search_space(context)
        positions = self._positions_of("pending", pending)
        chosen = self.seed if seed is None else checks.integer("seed", seed, low=0)
        return self._params_at(self._new_point(number, positions, space, chosen), context)

    def tell(self, trial: Trial | int, value: float) -> None:
        """Take the payoff of a trial, given by itself or its number, in any order.

        The payoff of a trial that was withdrawn may still come.
        """
        number = self._trial_number(trial)
        if number in self._completed:
            raise ValueError(f"`trial` must not be told before, but trial {number} was.")
        payoff = checks.number("value", value)
        if abs(payoff) > checks.LARGEST_PAYOFF:
            raise ValueError(
                f"`|value| <= {checks.LARGEST_PAYOFF:g}` must hold, but got value={value!r}."
            )
        asked, u = self._trials[number]
        self._pending.pop(number, None)
        self._completed[number] = CompletedTrial(asked, payoff)
        self._positions.append(u)

    def add(self, params: Mapping[str, Any], value: float) -> Trial:
        """Take a payoff measured elsewhere, and return the trial it makes."""
        u = self._position_of_params(params)
        number = len(self._trials)
        trial = Trial(number, self._params_at(u, params))
        self._trials[number] = (trial, u)
        try:
            self.tell(number, value)
        except ValueError:
            del self._trials[number]
            raise
        return trial._copy()

    def withdraw(self, trial: Trial | int) -> None:
        """Give up a pending trial: it no longer counts as running."""
        number = self._trial_number(trial)
        if number not in self._pending:
            raise ValueError(f"`trial` must be pending, but trial {number} is not.")
        del self._pending[number]

    def predict(
        self, configurations: Sequence[Mapping[str, Any]], *, level: float = 0.9
    ) -> Prediction:
        """Return the robust mean payoff at configurations, with an interval."""
        level = checks.in_unit_interval("level", level, closed_above=False)
        self._need_payoffs()
        positions = self._positions_of("configurations", configurations)
        return self._predict_at(self._condition_model([]), self._stack_positions(positions), level)

    def recommend(
        self, *, level: float = 0.9, context: Mapping[str, Any] | None = None
    ) -> Recommendation:
        """Return the configuration with the best robust mean, not the one of the best payoff.

        Parameters
        ----------
        level
            Confidence level of the interval.
        context
            Values of some parameters: then it is the best of the configurations that have them,
            and the best observed one is of those, too, if any was measured. Counts and tails are
            of all payoffs.
        """
        level = checks.in_unit_interval("level", level, closed_above=False)
        space = self._search_space(context)
        self._need_payoffs()
        posterior = self._condition_model([])
        rng = np.random.default_rng([self.seed, len(self), 1])
        seen, completed = np.array(self._positions), list(self._completed.values())
        u = maximize_ucb(space, posterior, 0.0, seen, rng)
        if isinstance(space, ContextSpace):
            inside = space.contains(seen)
            completed = [d for d, agrees in zip(completed, inside, strict=True) if agrees]
            completed = completed or list(self._completed.values())
            seen = seen[inside]
        # Among equally good configurations one that was measured is preferred.
        best, *measured = posterior.ucb(self.space.encode(np.vstack([u, seen])), 0.0)
        if max(measured, default=-np.inf) >= best:
            u = seen[int(np.argmax(measured))]
        prediction = self._predict_at(posterior, u[None], level)
        best_observed = (min if self.minimize else max)(completed, key=lambda d: d.value)
        return Recommendation(
            params=self._params_at(u, context),
            mean=float(prediction.mean[0]),
            lower=float(prediction.lower[0]),
            upper=float(prediction.upper[0]),
            level=level,
            payoffs=sum(bool(np.array_equal(u, position)) for position in self._positions),
            total_payoffs=len(self),
            clipped=int(posterior.clipped.sum()),
            tails=_tails_in_words(posterior.residuals),
            best_observed_params=dict(best_observed.trial.params),
            best_observed_value=best_observed.value,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one npz file; `tailproof.load` reads it and goes on bit for bit."""
        from tailproof.search import state

        storage.save(path, state.FORMAT, *state.to_state(self))

    def _trial_number(self, trial: Trial | int) -> int:
        number = trial.number if isinstance(trial, Trial) else trial
        integer = isinstance(number, int | np.integer) and not isinstance(number, bool)
        asked = self._trials[int(number)][0] if integer and int(number) in self._trials else None
        if asked is None or (isinstance(trial, Trial) and trial != asked):
            raise ValueError(f"`trial` must be one that was asked here, but got {trial!r}.")
        return int(number)

    def _search_space(self, context: Mapping[str, Any] | None) -> AnySpace:
        """Return what is searched: the space, or the part of it that agrees with a context."""
        return self.space if context is None else ContextSpace(self.space, context)

    def _params_at(self, u: Array, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the configuration at u; continuous values that were given keep all their digits.

        The cube has fewer.
        """
        params = self.space.params(u)
        if given is None or not isinstance(self.space, Space):
            return params
        for name, p in self.space.parameters.items():
            if name in given and isinstance(p, Float) and p.count is None:
                params[name] = float(given[name])
        return params

    def _position_of_params(self, params: Mapping[str, Any]) -> Array:
        return self.space.snap(self.space.position(params)[None])[0]

    def _positions_of(self, name: str, configurations: Any) -> list[Array]:
        if isinstance(configurations, Mapping) or not isinstance(configurations, Iterable):
            raise ValueError(f"`{name}` must be a list of dicts, but got {configurations!r}.")
        return [self._position_of_params(params) for params in configurations]

    def _stack_positions(self, positions: list[Array]) -> Array:
        """Return positions as the rows of an array, (k, dimension)."""
        return np.array(positions).reshape(len(positions), self.space.dimension)

    def _need_payoffs(self) -> None:
        if not self._completed:
            raise ValueError("`tell` must have been called before, but no payoff is known.")

    def _observations(self) -> Observations:
        sign = -1.0 if self.minimize else 1.0
        payoffs = np.array([sign * done.value for done in self._completed.values()])
        points = self.space.encode(self._stack_positions(self._positions))
        return Observations(points, payoffs, np.full(len(payoffs), np.nan))

    def _new_point(self, number: int, pending: list[Array], space: AnySpace, seed: int) -> Array:
        at_random = isinstance(space, ContextSpace)
        design = random_point if at_random else sobol_point
        if number < self._n_initial or len(self) < self._payoffs_at_first_fit():
            return design(space, number, [seed])
        rate = self.options.exploration_rate
        point = exploratory_point(space, number, rate, [seed, 0, 3], at_random=at_random)
        if point is not None:
            return point
        posterior = self._condition_model(pending)
        if posterior.correction.deviation is not None:  # there may be a mean where no trial was made
            point = exploratory_point(
                space, number, rate, [seed, 0, 4], offset=0.5, at_random=at_random
            )
            if point is not None:
                return point
        U = self._stack_positions(pending)
        seen = np.vstack([np.array(self._positions), U])
        rng = np.random.default_rng([seed, number])
        u = maximize_ucb(space, posterior, self.options.kappa, seen, rng)
        crowded = len(U) and space.count is None and _count_trials_near(U, u) > 1 + len(U) // _SHARE
        return design(space, number, [seed, 0, 5]) if crowded else u

    def _payoffs_at_first_fit(self) -> int:
        """Return the number of payoffs at which the first fit is due."""
        return max(self._n_initial // 2, 2)

    def _fit_model(self, observations: Observations) -> ModelParameters:
        """Return the parameters of the last fit that was due, with those before it if needed."""
        count = len(observations)
        if count < self._payoffs_at_first_fit():
            return fit_model(observations, None, self._config)
        due = [self._payoffs_at_first_fit()]
        while next_refit(due[-1]) <= count:
            due.append(next_refit(due[-1]))
        model = self._model
        if model is not None and model.count == due[-1]:
            return model
        begin = (len(due) - 1) // _FRESH * _FRESH
        if model is not None and model.count not in due[begin:]:
            model = None
        for index in range(begin, len(due)):
            if model is None or model.count < due[index]:
                start = None if index == begin else model
                model = fit_model(observations.take(slice(due[index])), start, self._config)
        self._model = model
        assert model is not None
        return model

    def _condition_model(self, pending: list[Array]) -> Posterior:
        """Return the posterior given all payoffs and pending positions; the last one is kept."""
        key = (len(self), len(pending), np.array(pending).tobytes())
        if self._posterior is None or self._posterior[0] != key:
            observations = self._observations()
            waiting = self.space.encode(self._stack_positions(pending))
            model = self._fit_model(observations)
            self._posterior = (key, condition(observations, waiting, model, self._config))
        return self._posterior[1]

    def _predict_at(self, posterior: Posterior, U: Array, level: float) -> Prediction:
        X = self.space.encode(U)
        mean, lower, upper = interval(posterior, X, level)
        if self.minimize:
            mean, lower, upper = -mean, -upper, -lower
        return Prediction(mean, lower, upper, level)


def _count_trials_near(U: Array, u: Array) -> int:
    """Return how many trials, at the rows of U (n, d), are close to u (d,)."""
    return int(np.sum(np.abs(U - u).max(axis=1) < _CLOSE))


def _tails_in_words(residuals: Array) -> str:
    """Say in words how heavy the tails of the model's residuals look."""
    if len(residuals) < _FEWEST_FOR_TAILS:
        return f"tails not judged from fewer than {_FEWEST_FOR_TAILS} payoffs"
    if float(np.ptp(residuals)) == 0.0:
        return "no noise seen"
    from tailproof.tails import diagnose  # loads scipy.stats, which is slow

    return f"{diagnose(np.clip(residuals, -1e60, 1e60)).pooled.verdict}"
