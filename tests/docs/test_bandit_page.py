"""The page of `Bandit`: its blocks run in order and print what it shows."""

import pytest

from pages import check_links, check_output, read_blocks, read_page, run_page

NAME = "bandit.md"


def test_the_page_runs_and_shows_what_comes_out(tmp_path):
    pytest.importorskip("matplotlib", reason="the page's command draws a picture")
    blocks, names = run_page(NAME, tmp_path)
    check_output(blocks, NAME)
    assert names["bandit"].recommend().arm == "blue"


def test_the_page_starts_with_an_example_of_five_lines():
    first = read_blocks(read_page(NAME))[0]
    assert first.line < 12
    assert len([line for line in first.code.splitlines() if line]) == 5


def test_links_on_the_page_lead_somewhere():
    check_links(NAME)
