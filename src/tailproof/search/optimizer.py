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
from tailproof.search.acquisition.designs import even, scattered, survey_chance, surveys
from tailproof.search.acquisition.optimize import maximize
from tailproof.search.model.fit import next_refit, refit
from tailproof.search.model.intervals import interval
from tailproof.search.model.parameters import Calibration, Data, Settings, calibration_from_state
from tailproof.search.model.posterior import Belief, believe
from tailproof.search.options import Options, layout_of
from tailproof.search.space.context import ContextSpace
from tailproof.search.space.parameters import Float
from tailproof.search.space.space import Configurations, Space, space_from_state
from tailproof.search.trials import (
    CompletedTrial,
    Prediction,
    Recommendation,
    Trial,
    params_from_state,
    params_state,
)
from tailproof.tails import diagnose

Array = NDArray[np.float64]

# Every fourth refit forgets the one before: a bad start is overcome, and a rebuilt optimizer has
# at most four refits to repeat.
_FRESH = 4
# Of pending trials about one in so many may be this close to each other, as a share of the cube's
# side: a mean that stays as it is would send all of them to one place.
_SHARE, _CLOSE = 4, 0.01
# Fewest payoffs that a tail can be judged from.
_JUDGED = 20


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
        How it works; the defaults are meant for everybody.

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
        if not isinstance(minimize, bool | np.bool_):
            raise ValueError(f"`minimize` must be True or False, but got {minimize!r}.")
        self.space, self.options = space, options or Options()
        self.seed = checks.integer("seed", seed, low=0)
        self.minimize = bool(minimize)
        self._settings = Settings(layout_of(space, self.options), self.options.loss)
        self._initial = self.options.n_initial or max(8, 2 * space.dimension)
        self._trials: dict[int, tuple[Trial, Array]] = {}
        self._pending: dict[int, None] = {}
        self._told: list[CompletedTrial] = []
        self._finished: set[int] = set()
        self._positions: list[Array] = []
        self._calibration: Calibration | None = None
        self._belief: tuple[Any, Belief] | None = None

    def __len__(self) -> int:
        return len(self._told)

    def __repr__(self) -> str:
        aim = "minimize" if self.minimize else "maximize"
        return f"<Optimizer: {aim} over {self.space!r}, {len(self)} payoffs>"

    @property
    def trials(self) -> list[CompletedTrial]:
        """The payoffs told, in the order they came."""
        return [CompletedTrial(one.trial.copy(), one.value) for one in self._told]

    @property
    def pending(self) -> list[Trial]:
        """Trials asked, neither told nor withdrawn."""
        return [self._trials[number][0].copy() for number in self._pending]

    @property
    def clipped(self) -> NDArray[np.bool_]:
        """Which payoffs of `trials` have a residual that the robust loss limits, (n,)."""
        return self._believe([]).clipped.copy() if self._told else np.zeros(0, dtype=np.bool_)

    def ask(self, *, context: Mapping[str, Any] | None = None) -> Trial:
        """Return the next trial; it counts as pending until it is told or withdrawn.

        Ask several times for a batch: each knows of those before it.

        Parameters
        ----------
        context
            Values of parameters that are not chosen but met, such as the hour or the client: the
            trial has them, and the others are chosen for them.
        """
        number, section = len(self._trials), self._section(context)
        u = self._propose(
            number, [self._trials[one][1] for one in self._pending], section, self.seed
        )
        trial = Trial(number, self._params(u, context))
        self._trials[number] = (trial, u)
        self._pending[number] = None
        return trial.copy()  # the caller's own: it may be changed

    def propose(
        self,
        number: int,
        pending: Iterable[Mapping[str, Any]] = (),
        *,
        context: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> dict[str, Any]:
        """Return what would be asked as trial `number` while `pending` are running; change nothing.

        For those who keep trials elsewhere: it depends on the payoffs told, in their order, on
        `pending`, `number`, `context` and the seed alone. `seed` replaces the optimizer's own.
        """
        number, section = checks.integer("number", number, low=0), self._section(context)
        waiting = self._positions_of("pending", pending)
        chosen = self.seed if seed is None else checks.integer("seed", seed, low=0)
        return self._params(self._propose(number, waiting, section, chosen), context)

    def tell(self, trial: Trial | int, value: float) -> None:
        """Take the payoff of a trial, in any order; one that was withdrawn may still come.

        Parameters
        ----------
        trial
            The trial, or its number.
        value
            Its payoff.
        """
        number = self._number(trial)
        if number in self._finished:
            raise ValueError(f"`trial` must not be told before, but trial {number} was.")
        payoff = checks.number("value", value)
        if abs(payoff) > checks.LARGEST_PAYOFF:
            raise ValueError(
                f"`|value| <= {checks.LARGEST_PAYOFF:g}` must hold, but got value={value!r}."
            )
        known, u = self._trials[number]
        self._pending.pop(number, None)
        self._finished.add(number)
        self._told.append(CompletedTrial(known, payoff))
        self._positions.append(u)

    def add(self, params: Mapping[str, Any], value: float) -> Trial:
        """Take a payoff measured elsewhere, and return the trial it makes."""
        u = self._position(params)
        number = len(self._trials)
        trial = Trial(number, self._params(u, params))
        self._trials[number] = (trial, u)
        try:
            self.tell(number, value)
        except ValueError:
            del self._trials[number]
            raise
        return trial.copy()

    def withdraw(self, trial: Trial | int) -> None:
        """Give up a pending trial: it no longer counts as running."""
        number = self._number(trial)
        if number not in self._pending:
            raise ValueError(f"`trial` must be pending, but trial {number} is not.")
        del self._pending[number]

    def predict(
        self, configurations: Sequence[Mapping[str, Any]], *, level: float = 0.9
    ) -> Prediction:
        """Return the robust mean payoff at configurations, with an interval."""
        level = checks.in_unit_interval("level", level, closed_above=False)
        self._need_payoffs()
        places = self._positions_of("configurations", configurations)
        U = np.array(places).reshape(len(places), self.space.dimension)
        return self._estimate(self._believe([]), U, level)

    def recommend(
        self, *, level: float = 0.9, context: Mapping[str, Any] | None = None
    ) -> Recommendation:
        """Return the configuration with the best robust mean, never the luckiest payoff's.

        Parameters
        ----------
        level
            Of the interval.
        context
            Values of some parameters: then it is the best of the configurations that have them,
            and so is the luckiest, if one was measured. Counts and tails are of all payoffs.
        """
        level = checks.in_unit_interval("level", level, closed_above=False)
        section = self._section(context)
        self._need_payoffs()
        belief = self._believe([])
        rng = np.random.default_rng([self.seed, len(self._told), 1])
        seen, told = np.array(self._positions), self._told
        u = maximize(section, belief, 0.0, seen, rng)
        # Of equally good ones a configuration that was measured.
        if isinstance(section, ContextSpace):
            here = section.contains(seen)
            told = [one for one, inside in zip(told, here, strict=True) if inside] or told
            seen = seen[here]
        best, *known = belief.uppers(self.space.encode(np.vstack([u, seen])), 0.0)
        if max(known, default=-np.inf) >= best:
            u = seen[int(np.argmax(known))]
        estimate = self._estimate(belief, u[None], level)
        best_observed = (min if self.minimize else max)(told, key=lambda one: one.value)
        return Recommendation(
            params=self._params(u, context),
            mean=float(estimate.mean[0]),
            lower=float(estimate.lower[0]),
            upper=float(estimate.upper[0]),
            level=level,
            payoffs=sum(bool(np.array_equal(u, one)) for one in self._positions),
            total_payoffs=len(self),
            clipped=int(belief.clipped.sum()),
            tails=_tails(belief.residuals),
            best_observed_params=dict(best_observed.trial.params),
            best_observed_value=best_observed.value,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one npz file; `tailproof.load` reads it and goes on bit for bit."""
        from tailproof.search import state

        storage.save(path, state.FORMAT, *state.to_state(self))

    def state(self) -> dict[str, Any]:
        """Return everything as JSON-able data, for `optimizer_from_state`."""
        return {
            "space": self.space.state(),
            "seed": self.seed,
            "minimize": self.minimize,
            "params": [params_state(trial.params) for trial, _ in self._trials.values()],
            "positions": [u.tolist() for _, u in self._trials.values()],
            "told": [[one.trial.number, one.value] for one in self._told],
            "pending": list(self._pending),
            "calibration": None if self._calibration is None else self._calibration.state(),
        }

    def _number(self, trial: Trial | int) -> int:
        number = trial.number if isinstance(trial, Trial) else trial
        wrong = f"`trial` must be one that was asked here, but got {trial!r}."
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise ValueError(wrong)
        number = int(number)
        if number not in self._trials:
            raise ValueError(wrong)
        if isinstance(trial, Trial) and trial != self._trials[number][0]:
            raise ValueError(wrong)
        return number

    def _section(self, context: Mapping[str, Any] | None) -> Space | Configurations | ContextSpace:
        """Return where to search: the space, or the part of it that a context leaves."""
        return self.space if context is None else ContextSpace(self.space, context)

    def _params(self, u: Array, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the configuration at u; a number of a continuum keeps the digits it was given.

        The cube has fewer.
        """
        usual = self.space.params(u)
        if given is None or not isinstance(self.space, Space):
            return usual
        for name, p in self.space.parameters.items():
            if name in given and isinstance(p, Float) and p.count is None:
                usual[name] = float(given[name])
        return usual

    def _position(self, params: Mapping[str, Any]) -> Array:
        return self.space.snap(self.space.position(params)[None])[0]

    def _positions_of(self, name: str, configurations: Any) -> list[Array]:
        if isinstance(configurations, Mapping) or not isinstance(configurations, Iterable):
            raise ValueError(f"`{name}` must be a list of dicts, but got {configurations!r}.")
        return [self._position(one) for one in configurations]

    def _need_payoffs(self) -> None:
        if not self._told:
            raise ValueError("`tell` must have been called before, but no payoff is known.")

    def _data(self) -> Data:
        sign = -1.0 if self.minimize else 1.0
        U = np.array(self._positions).reshape(len(self._positions), self.space.dimension)
        return Data(
            self.space.encode(U),
            np.array([sign * one.value for one in self._told]),
        )

    def _propose(
        self,
        number: int,
        pending: list[Array],
        space: Space | Configurations | ContextSpace,
        seed: int,
    ) -> Array:
        rng = np.random.default_rng([seed, number])
        design = scattered if isinstance(space, ContextSpace) else even
        if number < self._initial or len(self._told) < self._first():
            return design(space, number, [seed])
        point = self._surveyed(number, space, [seed, 0, 3])
        if point is not None:
            return point
        U = np.array(pending).reshape(len(pending), self.space.dimension)
        belief = self._believe(pending)
        if belief.remainder.process is not None:  # then where nobody looks there may be a mean
            point = self._surveyed(number, space, [seed, 0, 4], 0.5)
            if point is not None:
                return point
        seen = np.vstack([np.array(self._positions), U])
        u = maximize(space, belief, self.options.kappa, seen, rng)
        crowded = len(U) and space.count is None and _near(U, u) > 1 + len(U) // _SHARE
        return design(space, number, [seed, 0, 5]) if crowded else u

    def _surveyed(
        self,
        number: int,
        space: Space | Configurations | ContextSpace,
        stream: list[int],
        ahead: float = 0.0,
    ) -> Array | None:
        """Return the point of a survey's stream if trial `number` is one of its, else None."""
        rate = self.options.exploration_rate
        if isinstance(space, ContextSpace):
            draw = np.random.default_rng([*stream, number, 6]).random()
            due = draw < survey_chance(rate, number)
            return scattered(space, number, stream) if due else None
        count = surveys(rate, number, ahead)
        due = count > surveys(rate, number - 1, ahead)
        return even(space, count, stream) if due else None

    def _first(self) -> int:
        return max(self._initial // 2, 2)

    def _calibrated(self, data: Data) -> Calibration:
        """Return the calibration of the last refit that was due, with those before it if needed."""
        count = len(data)
        if count < self._first():
            return refit(data, None, self._settings)
        marks = [self._first()]
        while next_refit(marks[-1]) <= count:
            marks.append(next_refit(marks[-1]))
        known = self._calibration
        if known is not None and known.count == marks[-1]:
            return known
        begin = (len(marks) - 1) // _FRESH * _FRESH
        result = known if known is not None and known.count in marks[begin:] else None
        for index in range(begin, len(marks)):
            if result is None or result.count < marks[index]:
                start = None if index == begin else result
                result = refit(data.first(marks[index]), start, self._settings)
        assert result is not None
        self._calibration = result
        return result

    def _believe(self, pending: list[Array]) -> Belief:
        key = (len(self._told), len(pending), np.array(pending).tobytes())
        if self._belief is None or self._belief[0] != key:
            data = self._data()
            U = np.array(pending).reshape(len(pending), self.space.dimension)
            calibration = self._calibrated(data)
            belief = believe(data, self.space.encode(U), calibration, self._settings)
            self._belief = (key, belief)
        return self._belief[1]

    def _estimate(self, belief: Belief, U: Array, level: float) -> Prediction:
        center, half = interval(belief, self._data(), self._settings, self.space.encode(U), level)
        if self.minimize:
            center = -center
        return Prediction(center, center - half, center + half, level)


def optimizer_from_state(state: Mapping[str, Any], options: Options) -> Optimizer:
    """Return the optimizer whose `state()` this is."""
    space = space_from_state(state["space"])
    result = Optimizer(space, seed=state["seed"], minimize=state["minimize"], options=options)
    pairs = zip(state["params"], state["positions"], strict=True)
    for number, (params, place) in enumerate(pairs):
        u = np.array(place, dtype=np.float64).reshape(space.dimension)
        trial = Trial(number, params_from_state(params))
        if not np.allclose(result._position(trial.params), u, rtol=0.0, atol=1e-9):
            raise ValueError(f"trial {number} does not lie where its parameters do.")
        result._trials[number] = (trial, u)
    for number, value in state["told"]:
        result.tell(number, value)
    result._pending = dict.fromkeys(result._number(one) for one in state["pending"])
    if state["calibration"] is not None:
        known = calibration_from_state(state["calibration"])
        known.check(result._settings.layout, len(result))
        result._calibration = known
    return result


def _near(U: Array, u: Array) -> int:
    """Return how many rows of U (n, d) are close to u (d,)."""
    return int(np.sum(np.abs(U - u).max(axis=1) < _CLOSE))


def _tails(residuals: Array) -> str:
    """Say in words how heavy the tails of residuals look."""
    if len(residuals) < _JUDGED:
        return f"tails not judged from fewer than {_JUDGED} payoffs"
    if float(np.ptp(residuals)) == 0.0:
        return "no noise seen"
    verdict = diagnose(np.clip(residuals, -1e60, 1e60)).pooled
    return f"{verdict.verdict}"
