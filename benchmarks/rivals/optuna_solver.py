"""Optuna's samplers as their users run them.

Optuna has no finite sets of points: there it suggests a point of the cube, and the nearest arm is
evaluated and its payoff told for that point.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rivals.domains import Array, Domain, Params
from rivals.peers import load

POSTERIOR_MEAN = "posterior mean"


class OptunaSolver:
    """A study that is asked and told; recommends the trial with the largest payoff.

    Without `distributions` each coordinate of the domain is a parameter of the study.
    """

    def __init__(
        self,
        domain: Domain,
        seed: int,
        sampler: str,
        distributions: dict[str, Any] | None = None,
    ) -> None:
        optuna = load("optuna")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._domain, self._gp = domain, sampler == "gp"
        self.distributions = distributions or _distributions(domain)
        seed %= 2**32  # the range of numpy's RandomState, which the samplers use
        if self._gp:
            load("torch").set_num_threads(1)
            chosen = optuna.samplers.GPSampler(seed=seed)
        else:
            chosen = optuna.samplers.TPESampler(seed=seed)
        self.study = optuna.create_study(direction="maximize", sampler=chosen)
        self._trial: Any = None

    def ask(self) -> Params:
        """Return the parameters of the study's next trial; among arms, the nearest one."""
        self._trial = self.study.ask(self.distributions)
        return self._nearest_params(self._trial.params)

    def tell(self, params: Params, value: float) -> None:
        """Tell the trial's value."""
        self.study.tell(self._trial, value)

    def recommend(self) -> Params:
        """Return the parameters of the trial with the largest payoff."""
        return self._nearest_params(self.study.best_trial.params)

    def alternatives(self) -> dict[str, Params]:
        """Return the trial with the best posterior mean of GPSampler's own model, if it has one."""
        trials = self.study.get_trials(deepcopy=False)
        if not self._gp or len(trials) < 2:
            return {}
        means = _posterior_means(self.distributions, trials)
        return {POSTERIOR_MEAN: self._nearest_params(trials[int(np.argmax(means))].params)}

    def _nearest_params(self, params: Any) -> Params:
        return self._domain.params(self._domain.point(params))


def _distributions(domain: Domain) -> dict[str, Any]:
    d = load("optuna").distributions
    low, high = domain.bounds
    return {
        name: d.IntDistribution(int(low[i]), int(high[i]))
        if i in domain.integers
        else d.FloatDistribution(float(low[i]), float(high[i]))
        for i, name in enumerate(domain.names)
    }


def _posterior_means(distributions: dict[str, Any], trials: list[Any]) -> Array:
    """Fit the model GPSampler would fit next, with its own code, and return the trials' means."""
    gp, space, prior = (load(f"optuna._gp.{name}") for name in ("gp", "search_space", "prior"))
    torch = load("torch")
    inner = space.SearchSpace(distributions)
    points = inner.get_normalized_params(trials)
    values = np.array([trial.value for trial in trials])
    scaled = (values - values.mean()) / max(float(values.std()), 1e-10)
    model = gp.fit_kernel_params(
        X=points,
        Y=scaled,
        is_categorical=inner.is_categorical,
        log_prior=prior.default_log_prior,
        minimum_noise=prior.DEFAULT_MINIMUM_NOISE_VAR,
        deterministic_objective=False,
    )
    with torch.no_grad():
        mean, _ = model.posterior(torch.from_numpy(points))
    result: Array = mean.numpy()
    return result
