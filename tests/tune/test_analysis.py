from tailproof.tune.analysis import analyze
from tune_studies import SPACE


def test_the_analysis_counts_what_counts_toward_the_budget(analysis, study):
    assert len(analysis.values) == 36
    assert len(analysis.failed) == 3
    assert len(analysis.trials) == 39
    assert analysis.course[-1][0] == 36
    assert analysis.recommendation.total_payoffs == 36
    assert analysis.recommendation.params["k"] == "<b>"
    assert analysis.recommendation.best_observed_value == study.best_value
    assert analysis.recommendation.params["layers"] <= 2
    assert analysis.clipped.shape == (36,)
    assert analysis.tails is not None
    assert [along.name for along in analysis.slices] == list(SPACE.names)[:3]


def test_there_is_no_analysis_without_a_payoff(study):
    failed = [t for t in study.trials if t.state.name == "FAIL"]
    assert analyze(failed, SPACE, minimize=True, level=0.9, seed=0) is None
