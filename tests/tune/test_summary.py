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


def test_on_a_narrow_terminal_the_table_is_turned_and_lines_are_wrapped(analysis):
    names = [cells[0] for cells in comparison_table(analysis, None)[1:]]
    wide, narrow = summary_text(analysis, None, 1.25), summary_text(analysis, None, 1.25, width=60)
    assert max(map(len, narrow.splitlines())) <= 60
    assert narrow.split() != wide.split()
    assert narrow.splitlines()[2].split() == " ".join(names).split()
    assert sorted(narrow.split()) == sorted(wide.split())  # nothing is lost
    assert summary_text(analysis, None, 1.25, width=500) == wide
