from tailproof.tune.summary import comparison_table, summary_text


def test_the_true_mean_stands_beside_the_estimate_where_it_is_known(analysis):
    table = comparison_table(analysis, lambda params: float(params["layers"]))
    assert table[0][-1] == "true mean"
    assert table[1][-1] == f"{analysis.recommendation.params['layers']:.4g}"
    assert "true mean" not in comparison_table(analysis, None)[0]


def test_the_summary_shows_the_recommended_and_the_best_observed_setting(analysis):
    shown = summary_text(analysis, None, 1.25)
    assert shown.startswith("36 payoffs, 3 failed trials; this session took 1.2 s.\n\n")
    rows = [line.split()[0] for line in shown.splitlines()[3:5]]
    assert rows == ["recommended", "best"]
    assert f"{analysis.clipped.sum()} of 36 payoffs were clipped. Tails: heavy-tailed" in shown
