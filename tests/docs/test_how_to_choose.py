"""The page from a data file to a policy: its blocks run in order and print what it shows."""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from tailproof import tails

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "how-to-choose.md").read_text(encoding="utf-8")
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# A hundred and fifty words a minute between the blocks, which are skimmed.
MOST_WORDS = 1_500


@dataclass
class Block:
    """One block of code, its place, what the page shows below it, and what it printed."""

    kind: str
    code: str
    line: int
    shown: str | None = None
    printed: str = ""


def read_blocks(page):
    blocks = []
    for found in FENCED.finditer(page):
        kind, body = found.groups()
        line = page.count("\n", 0, found.start()) + 2
        if kind == "text":
            assert blocks[-1].shown is None, f"line {line}: two outputs of one block"
            blocks[-1].shown = body
        else:
            assert kind in ("python", "sh"), f"line {line}: a block of {kind!r}"
            blocks.append(Block(kind, body, line))
    return blocks


# -- comparing


def tokens(text):
    """Unsigned numbers, words and single marks; how lines are wrapped does not matter."""
    return re.findall(r"\d+(?:\.\d+)?|[^\W\d]+|\S", text)


def agree(shown, printed):
    """Equal marks; numbers that agree in the digits shown."""
    if not (shown[0].isdigit() and printed[0].isdigit()):
        return shown == printed
    half_a_digit = 0.5 * 10.0 ** -len(shown.partition(".")[2])
    return abs(float(shown) - float(printed)) <= half_a_digit * (1.0 + 1e-9)


def find(part, whole, start):
    """Return where `part` ends in `whole` at the first place from `start` on, None if nowhere."""
    for i in range(start, len(whole) - len(part) + 1):
        if all(map(agree, part, whole[i : i + len(part)])):
            return i + len(part)
    return None


def matches(shown, printed):
    """Tell whether `printed` is `shown`, in which a line of three dots stands for any lines."""
    parts = [tokens(part) for part in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)]
    whole, end = tokens(printed), 0
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        if last and part and i > 0:
            end = max(end, len(whole) - len(part))
        stop = find(part, whole, end)
        if stop is None or (i == 0 and stop != len(part)):
            return False
        end = stop
    return not parts[-1] or end == len(whole)


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


# -- running


def run_command(line, folder):
    script = Path(sysconfig.get_path("scripts")) / "tailproof"
    words = shlex.split(line)
    assert words[0] == "tailproof", line
    done = subprocess.run(
        [script, *words[1:]],
        cwd=folder,
        env=os.environ | {"MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def run_page(folder):
    """Run every block in `folder`; return the blocks and the names the Python ones left behind."""
    blocks, names = read_blocks(PAGE), {"__name__": "how_to_choose"}
    for block in blocks:
        out = io.StringIO()
        if block.kind == "sh":
            for line in block.code.splitlines():
                out.write(run_command(line, folder))
        else:
            # Empty lines in front, so that a traceback names the line of the page.
            code = "\n" * (block.line - 1) + block.code
            with contextlib.chdir(folder), contextlib.redirect_stdout(out):
                exec(compile(code, "how-to-choose.md", "exec"), names)
        block.printed = out.getvalue()
    return blocks, names


def option(command, name):
    words = shlex.split(command)
    return words[words.index(f"--{name}") + 1]


def test_the_page_runs_and_shows_what_comes_out(tmp_path):
    pytest.importorskip("matplotlib", reason="the page's commands draw pictures")
    blocks, names = run_page(tmp_path)
    for block in blocks:
        where = f"block at line {block.line} of how-to-choose.md printed:\n{block.printed}"
        if block.shown is not None:
            assert matches(block.shown, block.printed), where
        elif block.kind == "python":
            assert block.printed == "", where
        else:
            pytest.fail(f"the page does not show what {block.code.strip()!r} prints")

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
    targets = re.findall(r"\]\(([^)#:]+)\)", PAGE)
    assert targets
    for target in targets:
        assert (DOCS / target).exists(), target
