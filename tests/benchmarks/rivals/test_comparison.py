"""What a comparison prints, on runs made by hand."""

from rival_runs import ALL_HEAVY, runs_of_method
from rivals.comparison import digest


def test_the_terminal_shows_both_rankings_and_the_claims():
    runs = runs_of_method("tailproof", 20, ALL_HEAVY, 0.1)
    runs += runs_of_method("random", 20, ALL_HEAVY, 0.5)
    single = runs_of_method("gp-ucb", 1, ALL_HEAVY, 0.3)
    lines = digest(runs + single).splitlines()
    head = "mean rank of all{}, heavy (31 of 31 problems with {} or more seeds)"
    assert lines[0] == head.format(" with 20 seeds", 20)
    assert lines[3] == head.format("", 1)
    assert [line.split()[0] for line in lines[4:7]] == ["tailproof", "GP-UCB", "random"]
    text = "best mean rank of all{} in simple regret, heavy: "
    assert any(line.startswith("holds: " + text.format(" with 20 seeds")) for line in lines)
    assert any(line.startswith("open, points to yes: " + text.format("")) for line in lines)
    decided = digest(runs)
    assert "holds: " in decided
    assert "open" not in decided.lower()
