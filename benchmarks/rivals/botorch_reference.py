"""BoTorch's LogNEI with BoTorch's own code alone, to measure its time.

`botorch_solver` computes likelihoods and acquisition functions in closed form, which shows how good
BoTorch's suggestions are, not how long they take.
"""

from __future__ import annotations

import math

import numpy as np

from rivals.botorch_solver import REFIT_GROWTH, REFIT_STEP
from rivals.domains import Array, Domain, Params
from rivals.peers import load

# Less than in its tutorials, which makes it faster.
RESTARTS, RAW_SAMPLES, ITERATIONS, SAMPLES = 2, 128, 50, 64


class BotorchReference:
    """SingleTaskGP, qLogNoisyExpectedImprovement and optimize_acqf, on a box without integers.

    Hyperparameters are fitted as the payoffs grow, on the schedule of `botorch_solver` without its
    refits after surprises.
    """

    def __init__(self, domain: Domain) -> None:
        self._torch = load("torch")
        for part in ("models", "optim", "acquisition.logei", "fit", "sampling"):
            load(f"botorch.{part}")  # before the first round, which is timed
        self._torch.set_num_threads(1)
        self._domain = domain
        self._points: list[Array] = []
        self._values: list[float] = []
        self._fitted = None
        self._next_fit = 0

    def tell(self, params: Params, value: float) -> None:
        """Keep the payoff."""
        self._points.append(self._domain.point(params))
        self._values.append(value)

    def ask(self) -> Params:
        """Return the maximizer of the acquisition function."""
        model, x = self._model(), self._tensor(self._points)
        sampler = load("botorch.sampling").SobolQMCNormalSampler(self._torch.Size([SAMPLES]))
        found, _ = load("botorch.optim").optimize_acqf(
            load("botorch.acquisition.logei").qLogNoisyExpectedImprovement(
                model, x, sampler=sampler, prune_baseline=True
            ),
            bounds=self._tensor(self._domain.bounds),
            q=1,
            num_restarts=RESTARTS,
            raw_samples=RAW_SAMPLES,
            options={"maxiter": ITERATIONS},
        )
        return self._domain.params(found.detach().numpy()[0])

    def _tensor(self, array: object) -> object:
        return self._torch.as_tensor(np.array(array), dtype=self._torch.double)

    def _model(self) -> object:
        """Return a model of all payoffs; between fits it has the parameters of the last fit."""
        inputs, count = load("botorch.models.transforms.input"), len(self._values)
        scale = inputs.Normalize(self._domain.dimension, bounds=self._tensor(self._domain.bounds))
        model = load("botorch.models").SingleTaskGP(
            self._tensor(self._points), self._tensor(self._values)[:, None], input_transform=scale
        )
        if self._fitted is None or count >= self._next_fit:
            self._next_fit = max(count + REFIT_STEP, math.ceil(REFIT_GROWTH * count))
            mll = load("gpytorch.mlls").ExactMarginalLogLikelihood(model.likelihood, model)
            load("botorch.fit").fit_gpytorch_mll(mll)
        else:
            for name in ("mean_module", "covar_module", "likelihood"):
                getattr(model, name).load_state_dict(getattr(self._fitted, name).state_dict())
        model.eval()
        self._fitted = model
        return model
