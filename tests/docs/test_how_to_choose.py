"""The page from a data file to a policy: its blocks run in order and print what it shows."""

import json
import re
import shlex

import pytest

from pages import FENCED, agree, check_links, check_output, matches, read_page, run_page
from tailproof import tails

NAME = "how-to-choose.md"
PAGE = read_page(NAME)
# A hundred and fifty words a minute between the blocks, which are skimmed.
MOST_WORDS = 1_500


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a 1.25 b", "a  1.2504\nb", True),
        ("a 1.25 b", "a 1.26 b", False),
        ("a 88", "a 87.9", True),
        ("a 88", "a 86.9", False),
        ("light-tailed", "heavy-tailed", False),
        ("-1.5", "1.5", False),
        ("a b", "a b c", False),
        ("b c", "a b c", False),
        ("...\nb c\n", "a b b c", True),
        ("a\n...\nc\n", "a b c c", True),
        ("a\n...\nc\n", "a b c d", False),
        ("a\n...\nc\n...\n", "a b c d", True),
        ("a\n...\nd\n...\nc\n...\n", "a b c d", False),
    ],
)
def test_the_comparison_tells_right_from_wrong(shown, printed, same):
    assert matches(shown, printed) is same


def option(command, name):
    words = shlex.split(command)
    return words[words.index(f"--{name}") + 1]


def test_the_page_runs_and_shows_what_comes_out(tmp_path):
    pytest.importorskip("matplotlib", reason="the page's commands draw pictures")
    blocks, names = run_page(NAME, tmp_path)
    check_output(blocks, NAME)

    # The verdicts the story needs, from the files themselves.
    heavy = tails.diagnose_file(tmp_path / "latency.csv", by="server", value="payoff")
    light = tails.diagnose_file(tmp_path / "yields.csv", by="celsius", value="percent")
    assert heavy.verdict == tails.HEAVY
    assert light.verdict == tails.GAUSSIAN
    assert not heavy.advice.finite_variance
    assert 0.0 < heavy.advice.alpha < 1.0
    assert light.advice.alpha == 1.0
    record = json.loads((tmp_path / "tails" / "tails.json").read_text(encoding="utf-8"))
    assert record["verdict"] == tails.HEAVY

    # The page hands what `diagnose` and step 5 found to `bounds`.
    commands = [block.code for block in blocks if block.kind == "sh"]
    (bounds,) = [command for command in commands if command.startswith("tailproof bounds ")]
    assert float(option(bounds, "alpha")) == heavy.advice.alpha
    assert agree(option(bounds, "v"), repr(heavy.advice.v))
    (said,) = re.findall(r"^B = (\S+)$", "\n".join(b.printed for b in blocks), re.MULTILINE)
    assert option(bounds, "norm-bound") == said

    # What the words around the blocks say: how close the robust means come to the plain ones,
    # and what the policies of the second example are promised.
    (robust,) = [block.printed for block in blocks if block.printed.startswith("B = ")]
    for name, plain in names["means"].items():
        (mean,) = re.findall(rf"^{name} +(\S+)$", robust, re.MULTILINE)
        assert float(mean) == pytest.approx(plain + heavy.advice.center, abs=0.2)
    assert names["opt"].guarantee.holds
    assert names["insured"].guarantee.holds
    assert names["best"].index == names["opt"].recommend().index


def test_numbers_between_the_blocks_come_from_the_blocks():
    prose = re.sub(r"`[^`]*`", "", FENCED.sub("", PAGE))
    known = set(re.findall(r"\d+\.\d+", " ".join(found[1] for found in FENCED.findall(PAGE))))
    assert set(re.findall(r"\d+\.\d+", prose)) <= known


def test_the_page_is_read_in_ten_minutes():
    assert len(FENCED.sub("", PAGE).split()) <= MOST_WORDS
    assert PAGE.count("| if | then |") == 1


def test_links_on_the_page_lead_somewhere():
    check_links(NAME)
