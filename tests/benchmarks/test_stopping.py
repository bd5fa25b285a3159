"""The simulation of stopping runs, and its table says what it should."""

import sys

import stopping


def test_a_table_counts_stops_and_those_that_came_too_early():
    right = stopping.Course([20, 22, 24, 30], [0.1, 0.5, 0.05, 0.04], [0.3, 0.3, 0.02, 0.01])
    wrong = stopping.Course([20, 30], [0.15, 0.05], [0.3, 0.3])
    lines = stopping.table([right, wrong], 100)
    row = next(line for line in lines if line.startswith("| until 0.2 "))
    assert [cell.strip() for cell in row.split("|")[2:6]] == ["2 of 2", "50.0%", "0.155", "0.155"]


def test_the_quick_form_prints_a_table(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["stopping.py", "--quick"])
    stopping.main()
    out = capsys.readouterr().out
    assert "1 runs of 40 trials" in out
    assert "| 40 trials | 1 of 1 |" in out
