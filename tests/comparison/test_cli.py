"""`tailproof compare`: what it prints and writes, exit codes, and wrong input in one line."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from command_line import runner, write
from tailproof import cli
from tailproof.comparison.benchmark_files import read_benchmark_file

DATA = Path(__file__).parent / "data"


@pytest.fixture
def run(capsys):
    return runner("compare", capsys)


@pytest.fixture
def payoffs(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["day,variant,revenue"]
    for i in range(3000):
        name, size = (("control", 10.0), ("blue", 15.0), ("green", 10.0))[i % 3]
        lines.append(f"{i // 30},{name},{size * rng.pareto(3.0):.4f}")
    return write(tmp_path / "payoffs.csv", "\n".join(lines) + "\n")


LONG = ("--by", "variant", "--value", "revenue", "--baseline", "control")


def test_a_long_table_is_compared(payoffs, run):
    code, out, err = run(payoffs, *LONG)
    assert (code, err) == (0, "")
    assert re.search(r"blue earns \d+ % to \d+ % more than control; 95 % confidence", out)
    assert "not decided: green earns between" in " ".join(out.split())
    assert "assumed: independent payoffs" in out
    assert "97.5 % each, Bonferroni" in " ".join(out.split())


def test_json_has_the_same_numbers(payoffs, run):
    code, out, _ = run(payoffs, *LONG, "--json")
    (comparison,) = json.loads(out)["comparisons"]
    control, blue, _ = comparison["alternatives"]
    assert code == 0
    assert (control["name"], blue["verdict"]) == ("control", "better")
    assert blue["difference"]["lower"] > 0.0


def test_blocks_and_pairs_are_columns(payoffs, run):
    code, out, _ = run(payoffs, *LONG, "--block", "day")
    assert code == 0
    assert "within 100 blocks" in out
    code, _, err = run(payoffs, *LONG, "--pair", "day")
    assert code == 2
    assert "a pair must have one payoff" in err


def test_wide_tables_and_several_tables(tmp_path, run):
    rng = np.random.default_rng(1)
    a, b = rng.exponential(1.0, 200), rng.exponential(2.0, 200)
    rows = "".join(f"d{i},{x},{y}\n" for i, (x, y) in enumerate(zip(a, b, strict=True)))
    wide = write(tmp_path / "wide.csv", "day,a,b\n" + rows)
    one = write(tmp_path / "a.csv", "y\n" + "".join(f"{x}\n" for x in a))
    two = write(tmp_path / "b.csv", "y\n" + "".join(f"{x}\n" for x in b))
    outputs = [json.loads(run(*paths, "--json")[1]) for paths in ([wide], [one, two])]
    numbers = [o["comparisons"][0]["alternatives"][1]["difference"] for o in outputs]
    assert numbers[0] == numbers[1]
    assert "within 200 blocks" in run(wide, "--pair", "day")[1]


def test_markdown_escapes_names(tmp_path, run):
    rows = "".join(f"a|b*,{i % 7}\n<i>,{i % 5}\n" for i in range(60))
    code, out, _ = run(write(tmp_path / "p.csv", "v,y\n" + rows), "--by", "v", "--markdown")
    assert code == 0
    assert "a\\|b\\*" in out
    assert "<i>" not in out
    table = [line for line in out.splitlines() if line.startswith("| ")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table[:4]}) == 1


def test_the_page_is_self_contained(payoffs, tmp_path, run):
    pytest.importorskip("jinja2", reason="pages need jinja2")
    pytest.importorskip("matplotlib", reason="pages need matplotlib")
    page = tmp_path / "sub" / "page.html"
    code, _, err = run(payoffs, *LONG, "--html", page)
    text = page.read_text(encoding="utf-8")
    assert (code, err) == (0, f"wrote {page}\n")
    assert text.count("data:image/svg+xml;base64,") == 3
    assert not re.search(r"(src|href)=[\"'](?!data:)", text)
    assert "blue earns" in text


def test_hyperfine_files(run):
    code, out, _ = run(DATA / "hyperfine_before.json", DATA / "hyperfine_after.json")
    assert code == 0
    assert "lower is better" in out
    assert re.search(r"hyperfine_after takes \d+ % to \d+ % longer than hyperfine_before", out)
    code, out, _ = run(DATA / "hyperfine_commands.json", "--json")
    names = [a["name"] for a in json.loads(out)["comparisons"][0]["alternatives"]]
    assert names == ["gzip -1 -k -c /usr/bin/bash", "gzip -4 -k -c /usr/bin/bash"]


def test_pytest_benchmark_files_are_matched_by_name(run):
    code, out, _ = run(DATA / "pytest_before.json", DATA / "pytest_after.json", "--json")
    found = json.loads(out)["comparisons"]
    assert code == 0
    assert [c["title"].rpartition("::")[2] for c in found] == [
        "test_join[100]",
        "test_join[1000]",
        "test_sort",
    ]
    assert [c["alternatives"][1]["verdict"] for c in found][:2] == ["better", "better"]
    assert found[0]["corrected_level"] == pytest.approx(1.0 - 0.05 / 3)
    assert all(c["lower_is_better"] and c["kind"] == "time" for c in found)


@pytest.mark.parametrize(
    ("order", "threshold", "expected"),
    [
        (("before", "after"), "5%", 1),
        (("before", "after"), "400%", 0),
        (("before", "after"), "0.001", 1),
        (("before", "after"), "10", 0),
        (("after", "before"), "5%", 0),
    ],
)
def test_fail_if_worse_sets_the_exit_code(order, threshold, expected, run):
    paths = [DATA / f"hyperfine_{name}.json" for name in order]
    code, _, err = run(*paths, "--fail-if-worse", threshold)
    assert code == expected
    assert ("worse: " in err) == bool(expected)


@pytest.mark.skipif(os.name == "nt", reason="pipes without poll")
def test_a_reader_that_has_seen_enough_is_no_error():
    files = [DATA / "hyperfine_before.json", DATA / "hyperfine_after.json"]
    command = [sys.executable, "-m", "tailproof", "compare", *files, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        message = process.stderr.read()
        assert process.wait() == cli.BROKEN_PIPE
    assert message == b""


def test_percentages_need_a_positive_baseline(tmp_path, run):
    rng = np.random.default_rng(2)
    rows = "".join(f"{x},{y}\n" for x, y in rng.normal(-3.0, 1.0, (50, 2)))
    path = write(tmp_path / "p.csv", "a,b\n" + rows)
    code, out, _ = run(path)
    assert code == 0
    assert "no ratio and no minimum effect in percent: the baseline's mean is not" in out
    code, _, err = run(path, "--fail-if-worse", "5%")
    assert code == 2
    assert err.count("\n") == 1
    assert "clearly above 0" in err
    assert run(path, "--fail-if-worse", "0.5")[0] == 0


def test_sequential_prints_its_assumption(payoffs, run):
    code, out, _ = run(payoffs, *LONG, "--sequential")
    assert code == 0
    assert "at every look" in out
    assert "asymptotic confidence sequences" in out
    assert "too few payoffs to exclude an infinite variance" in out
    code, out, _ = run(payoffs, *LONG, "--sequential", "--moment-bound", "400")
    assert "E|payoff - mean|^2 <= 400" in " ".join(out.split())
    assert "too few payoffs to exclude" not in out  # it is assumed


SUMMARY = '{"benchmarks": [{"fullname": "x", "stats": {"mean": 1.0}}]}'


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("p.csv", "", (), "an empty file"),
        ("p.csv", "v,y\n", ("--by", "v"), "a header and no rows"),
        ("p.csv", "v,y\na,1\nb,2\n", ("--by", "v"), "at least two payoffs, but 'a' has 1"),
        ("p.csv", "v,y\na,1\na,1\nb,2\nb,3\n", ("--by", "v"), "payoffs of 'a' all equal 1"),
        ("p.csv", "v,y\na,1\na,nan\n", ("--by", "v"), "'nan', not a finite number, in line 3"),
        ("p.csv", "v,y\na,1\na,x\n", ("--by", "v"), "'x', not a number, in line 3"),
        ("p.csv", "v,y\na,1\na,2\nb,2\nb,3\n", ("--by", "w"), "`by` must be a column"),
        (
            "p.csv",
            "v,y\na,1\na,2\nb,2\nb,3\n",
            ("--by", "v", "--baseline", "c"),
            "`baseline` must be an alternative, but got baseline='c'; there are 'a', 'b'",
        ),
        ("p.csv", "y\n1\n2\n", (), "at least two alternatives, but got only 'y'"),
        ("p.csv", "a,b\n1,2\n2,4\n", ("--level", "2"), "level"),
        ("p.txt", "1\n", (), "must end in"),
        ("p.json", "", (), "expected JSON of hyperfine"),
        ("p.json", "[1, 2]", (), "neither results nor benchmarks"),
        ("p.json", "", (), "an empty file"),
        ("p.json", '{"results": []}', (), "no times"),
        ("p.json", '{"results": [{"command": "x", "times": ["a"]}]}', (), "the times of 'x'"),
        ("p.json", '{"results": [{"command": "x", "times": [1, 2]}]}', (), "name a second file"),
        ("p.json", SUMMARY, (), "--benchmark-json=FILE"),
        ("p.json", "{}", ("--by", "v"), "JSON files have none"),
    ],
)
def test_wrong_files_give_one_line_and_exit_code_2(tmp_path, run, name, text, options, message):
    code, out, err = run(write(tmp_path / name, text), *options)
    assert (code, out) == (2, "")
    assert err.startswith("tailproof compare: ")
    assert err.count("\n") == 1
    assert message in err


def test_missing_files_and_mixed_kinds_are_refused(tmp_path, run):
    assert run(tmp_path / "none.json")[0] == 2
    assert run(tmp_path / "none.csv")[0] == 2
    code, _, err = run(DATA / "hyperfine_before.json", write(tmp_path / "a.csv", "y\n1\n"))
    assert code == 2
    assert "all JSON or all tables" in err


@pytest.mark.parametrize("text", ["5", "x%", "-1%", "0%"])
def test_wrong_shares_are_refused_by_the_parser(text, payoffs, run, capsys):
    with pytest.raises(SystemExit) as ended:
        run(payoffs, *LONG, "--minimum-effect", text)
    assert ended.value.code == 2
    assert "--minimum-effect" in capsys.readouterr().err


def test_benchmarks_in_one_file_only_are_left_out_with_a_note(tmp_path, run):
    before = json.loads((DATA / "pytest_before.json").read_text())
    before["benchmarks"] = before["benchmarks"][1:]
    path = write(tmp_path / "earlier.json", json.dumps(before))
    code, out, _ = run(path, DATA / "pytest_after.json")
    assert code == 0
    assert "left out, not in every file:" in out


def test_hyperfine_itself(tmp_path, run):
    hyperfine = shutil.which("hyperfine")
    if hyperfine is None:
        pytest.skip("hyperfine is not installed")
    path = tmp_path / "h.json"
    command = [hyperfine, "-N", "--runs", "5", "--export-json", path, "true", "sleep 0.05"]
    subprocess.run(command, check=True, capture_output=True)
    code, out, _ = run(path, "--level", "0.9")
    assert code == 0
    assert "sleep 0.05 takes" in out


def test_pytest_benchmark_itself(tmp_path):
    pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")
    test = write(
        tmp_path / "test_it.py", "def test_it(benchmark):\n    benchmark(sorted, [3, 1])\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "--benchmark-json=b.json", test.name]
    # It measures nothing in a worker of pytest-xdist, as which this test may run.
    outside = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, env=outside)
    assert read_benchmark_file(tmp_path / "b.json").times["test_it.py::test_it"].size > 4
