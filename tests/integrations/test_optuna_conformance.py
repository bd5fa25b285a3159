"""Optuna's own conformance tests for single-objective samplers: all of them."""

from functools import partial

import pytest

pytest.importorskip("optuna", minversion="5.0", reason="the sampler is for Optuna 5")

from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from tailproof.integrations.optuna import TailproofSampler

pytestmark = pytest.mark.filterwarnings("ignore:the study .* has parameters that not")


class TestTailproofSampler(
    BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase
):
    @pytest.fixture(params=[0, None], ids=["seed", "no seed"])
    def sampler(self, request):
        return partial(TailproofSampler, seed=request.param)
