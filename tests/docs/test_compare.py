"""docs/compare.md: its blocks run in order and print what it shows; its workflow is consistent."""

import contextlib
import io
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tailproof import cli

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def pattern(shown):
    """A regular expression: white space as it comes, three dots for any digits."""
    words = (re.escape(word).replace(re.escape("..."), r"\d*") for word in shown.split())
    return r"\s+".join(words)


def test_the_page_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("before", "after"):
        source = ROOT / "tests" / "comparison" / "data" / f"hyperfine_{name}.json"
        shutil.copy(source, tmp_path / f"{name}.json")
    printed, names, shown_blocks = "", {}, 0
    for kind, code in FENCED.findall(PAGE):
        if kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, "compare.md", "exec"), names)
            printed = out.getvalue()
        elif kind == "sh":
            (line,) = code.splitlines()
            assert cli.main(shlex.split(line)[1:]) == 0
            printed = capsys.readouterr().out
        elif kind == "text":
            assert re.fullmatch(pattern(code), printed.strip()), f"the page's output is:\n{printed}"
            shown_blocks += 1
        else:
            assert kind in ("yaml", "console"), kind
    assert shown_blocks == 4


def test_the_workflow_uses_options_that_exist():
    (workflow,) = [code for kind, code in FENCED.findall(PAGE) if kind == "yaml"]
    (line,) = [line.strip() for line in workflow.splitlines() if "tailproof compare" in line]
    arguments = cli.parser().parse_args(shlex.split(line.split(">>")[0])[1:])
    assert arguments.fail_if_worse == (0.05, True)
    assert [str(path) for path in arguments.paths] == ["before.json", "after.json"]
    for path in arguments.paths:
        assert f"--benchmark-json={path}" in workflow


def test_every_option_of_the_command_is_on_the_page():
    parser = cli.parser()
    with contextlib.redirect_stdout(io.StringIO()) as out, pytest.raises(SystemExit):
        parser.parse_args(["compare", "--help"])
    options = set(re.findall(r"--[a-z-]+", out.getvalue())) - {"--help", "--seed"}
    assert options <= set(re.findall(r"--[a-z-]+", PAGE))
