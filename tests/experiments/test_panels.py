"""The panels have the constants of the authors' code and the paper's size."""

import numpy as np
import pytest

from figure_panels import PANELS, data_arms
from tailproof.environments import ParetoPayoff, StudentT
from tailproof.experiments.panels import light_panel, stocks_panel
from tailproof.experiments.plan import Size, make_plan
from tailproof.experiments.problems import ARMS
from tailproof.kernels import Matern, SquaredExponential


def test_the_synthetic_panels_have_the_authors_constants():
    a, b, c = (PANELS[letter].source for letter in "abc")
    assert (a.kernel, a.law, a.coefficients) == (SquaredExponential(0.2), StudentT(3.0), (-1, 1))
    assert (b.kernel, b.law, b.coefficients) == (SquaredExponential(0.2), ParetoPayoff(2.0), (0, 1))
    assert (c.kernel, c.law, c.coefficients) == (Matern(2.5, 0.2), StudentT(3.0), (-1, 1))
    assert (a.moment.alpha, a.moment.v) == (1.0, 4.0)  # v = 3 + B^2
    assert b.moment.alpha == 0.9
    assert b.moment.v == pytest.approx(1.0 / (2**0.9 * 0.1))
    np.testing.assert_allclose(ARMS[:, 0], np.arange(1, 101) / 100)
    sizes = [(PANELS[letter].rounds, PANELS[letter].repetitions) for letter in "abcf"]
    assert sizes == [(20_000, 20)] * 3 + [(10_000, 50)]


def test_a_stand_in_is_named_so_and_has_no_paper_values():
    panel = stocks_panel(data_arms(), stand_in=True)
    assert "stand-in" in panel.title
    assert not panel.paper.values
    assert stocks_panel(data_arms()).paper.values["tgp"][10_000] == 0.386


def test_recorded_rounds_increase_to_the_last_and_include_the_papers():
    for panel in PANELS.values():
        assert panel.at_paper_size
        rounds = panel.recorded_rounds
        assert len(rounds) == (6 if panel.letter == "g" else 100)
        assert (np.diff(rounds) > 0).all()
        assert rounds[-1] == panel.rounds
    light = light_panel(data_arms(np.zeros((3, 2))))
    assert {1_000, 10_000} <= set(light.recorded_rounds.tolist())
    assert Size(7, 1).applied_to(light).recorded_rounds.tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_the_papers_values_apply_only_at_the_papers_horizon():
    few = make_plan(PANELS, {"a": Size(repetitions=2)}, seed=0).panels[0]
    assert few.paper_value("tgp", 20_000) == 0.35
    assert few.paper_value("tgp", 10_000) is None
    assert not few.at_paper_size
    long = make_plan(PANELS, {"a": Size(rounds=40_000)}, seed=0).panels[0]
    assert long.paper_value("tgp", 20_000) is None
