"""Every picture of every kind of search is drawn, and shows what it should."""

from dataclasses import replace

import numpy as np
import pytest

import tailproof as tp
from searches import MIXED, payoff
from tailproof.plot import pictures
from tailproof.plot.pictures import slice_of

pytest.importorskip("matplotlib", reason="pictures need matplotlib")

PICTURES = ("course", "slices", "payoffs", "importance", "pairs", "seconds", "failures")


@pytest.fixture(scope="module")
def result():
    calls = []

    def objective(lr, n, act, k):
        calls.append(n)
        if n == 6:
            raise MemoryError
        return payoff({"lr": lr, "n": n, "act": act}, len(calls))

    now = {"lr": 1e-3, "n": 2, "act": "a"}
    return tp.maximize(objective, MIXED, 40, baseline=now, on_error="skip", progress=False)


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_of_every_search_is_drawn(result, name, tmp_path):
    picture = getattr(tp.plot, name)
    figure = picture(result)
    figure.savefig(tmp_path / "picture.png", dpi=40)
    assert (tmp_path / "picture.png").stat().st_size > 1000
    assert len(picture(result.optimizer).axes) == len(figure.axes)


def test_the_baseline_and_the_failures_are_in_the_pictures(result):
    labels = [t.get_text() for t in tp.plot.course(result).legends[0].get_texts()]
    shown = {"baseline", "best so far", "90 % interval", "confirmation begins"}
    assert shown <= set(labels)
    labels = [t.get_text() for t in tp.plot.payoffs(result).legends[0].get_texts()]
    assert "failed" in labels
    wider = tp.plot.course(result.optimizer, level=0.5).legends[0].get_texts()
    assert "50 % interval" in [text.get_text() for text in wider]


def axis_labels(figure):
    figure.canvas.draw()
    return [
        t.get_text() for ax in figure.axes for t in (*ax.get_yticklabels(), *ax.get_xticklabels())
    ]


def test_pairs_have_logarithmic_colors_where_payoffs_span_decades():
    opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1), y=tp.Int(0, 5)), minimize=True)
    for trial in opt.ask(30):
        opt.tell(trial, 10.0 ** (3.0 * trial.params["x"] + 0.4 * trial.params["y"]))
    figure = tp.plot.pairs(opt)
    assert figure.axes[-1].get_yscale() == "log"  # the color bar
    labels = axis_labels(figure)
    assert "1000" in labels
    assert not any("$" in text for text in labels)
    opt.add({"x": 0.5, "y": 1}, -1.0)
    assert tp.plot.pairs(opt).axes[-1].get_yscale() == "linear"


def test_payoffs_that_span_decades_have_a_logarithmic_axis():
    opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1)), minimize=True)
    for i, trial in enumerate(opt.ask(30)):
        opt.tell(trial, 10.0 ** (6.0 * trial.params["x"]) * (1.0 + 0.01 * i))
    assert tp.plot.course(opt).axes[0].get_yscale() == "log"
    assert tp.plot.payoffs(opt).axes[0].get_yscale() == "log"
    slices = tp.plot.slices(opt)
    assert slices.axes[0].get_yscale() == "log"
    assert not any("$" in text for text in axis_labels(slices))  # formulas would show as they are
    opt.add({"x": 0.5}, -1.0)
    assert tp.plot.course(opt).axes[0].get_yscale() == "linear"


def test_a_wide_interval_does_not_set_the_scale_of_slices(monkeypatch):
    opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1)))
    for trial in opt.ask(8):
        opt.tell(trial, trial.params["x"])
    plain = tp.plot.slices(opt).axes[0].get_ylim()

    def widened(record, name):
        along, found = slice_of(record, name)
        return along, replace(found, upper=found.upper + 1e6)

    monkeypatch.setattr(pictures, "slice_of", widened)
    assert tp.plot.slices(opt).axes[0].get_ylim() == plain


@pytest.mark.parametrize("name", PICTURES)
def test_one_payoff_and_one_parameter_are_enough(name):
    opt = tp.Optimizer(tp.Space(x=tp.Int(0, 3)))
    opt.tell(opt.ask(), 2.0)
    assert getattr(tp.plot, name)(opt).axes is not None


def test_an_optuna_study_has_the_same_pictures():
    optuna = pytest.importorskip("optuna", minversion="5.0", reason="the sampler is for Optuna 5")
    from tailproof.integrations.optuna import enqueue_baseline

    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    enqueue_baseline(study, {"x": 0.9, "c": None})

    def objective(trial):
        if trial.number == 3:
            raise RuntimeError
        return trial.suggest_float("x", 0, 1) + (
            trial.suggest_categorical("c", [1, "1", None]) == 1
        )

    study.optimize(objective, n_trials=20, catch=RuntimeError)
    for name in PICTURES:
        assert getattr(tp.plot, name)(study).axes is not None
    record = tp.plot.record_of(study)
    assert len(record.seconds) == len(record.values) == 19
    assert record.recommendation.baseline is not None
    assert {params["c"] for params in record.params} <= {"1 (0)", "1 (1)", "None (2)"}


def test_what_is_no_search_is_refused():
    for wrong in (None, 3, "study", np.zeros(3)):
        with pytest.raises(ValueError, match="`search` must be"):
            tp.plot.course(wrong)
    with pytest.raises(ValueError, match="no payoff"):
        tp.plot.course(tp.Optimizer(MIXED))
    with pytest.raises(ValueError, match="over a Space"):
        tp.plot.slices(tp.Optimizer(tp.Configurations([{"a": 1}, {"a": 2}])))
