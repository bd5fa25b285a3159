"""`tailproof tune` end to end: the files it writes, and who may read them."""

import contextlib
import csv
import json
import os
import re
import sqlite3
import stat

import pytest

from tune_studies import OUT, stored_trials


def test_everything_is_written_and_the_recommended_stands_beside_the_best_observed(
    tune, program, tmp_path, real_pictures
):
    # Nearly always |x - 3|, once in a while a payoff that is too good to be true.
    command = program(
        """
        import random, sys
        x = float(sys.argv[1])
        draw = random.Random(f"{x} {sys.argv[2]}")
        if sys.argv[2] == "c" and draw.random() < 0.2:
            print("warning: odd", file=sys.stderr)
            sys.exit(4)
        print("noise")
        print(abs(x - 3.0) + draw.gauss(0.0, 0.1) - (50.0 if draw.random() < 0.05 else 0.0))
        """
    )
    arguments = (
        *("--minimize", "--evaluations", 40, "--seed", 0, "--float", "x", 0, 10),
        *("--choice", "kind", "a", "b", "c", "--fixed", "k", "<b>&", "--level", 0.8, "--"),
        *(*command, "{x}", "{kind}", "{k}"),
    )
    code, out, err = tune(*arguments)
    assert code == 0
    found = json.loads((tmp_path / OUT / "result.json").read_text())
    assert abs(found["recommendation"]["params"]["x"] - 3.0) < 1.5
    assert found["recommendation"]["lower"] <= found["recommendation"]["mean"]
    assert found["recommendation"]["level"] == 0.8
    assert found["best_observed"]["payoff"] == min(
        t["payoff"] for t in found["trials"] if t["payoff"] is not None
    )
    assert len(found["trials"]) == 40
    assert found["failed"] == sum(t["state"] == "fail" for t in found["trials"])
    with (tmp_path / OUT / "trials.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 40
    assert {row["k"] for row in rows} == {"<b>&"}
    for row, trial in zip(rows, found["trials"], strict=True):
        assert (row["payoff"] or None) == (
            None if trial["payoff"] is None else repr(trial["payoff"])
        )
    page = (tmp_path / OUT / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/svg+xml;base64,") in (6, 7)  # one more if a trial failed
    assert "http" not in re.sub(r"base64,[^\"]*", "", page)  # nothing is fetched
    assert "&lt;b&gt;&amp;" in page
    assert "<b>&" not in page
    assert "recommended" in out
    assert "best observed" in out
    assert re.search(r"40 of 40 evaluations", err)
    # Given again, there is nothing left to run.
    before = [t.datetime_start for t in stored_trials(tmp_path / OUT)]
    assert tune(*arguments)[0] == 0
    assert [t.datetime_start for t in stored_trials(tmp_path / OUT)] == before


def test_no_cell_of_the_table_is_a_formula_and_no_secret_is_shown(tune, program, tmp_path):
    options = ["=cmd|calc", "@SUM(1)", "-5", "plain"]
    (tmp_path / "space.toml").write_text(
        f'"=1+1" = {{ choice = {json.dumps(options)} }}\n"-n" = {{ int = [-9, -1] }}'
    )
    url = "https://me:hush@host/v1?api_key=hush&page=2"
    rest = ("--minimize", "--evaluations", 12, "--space", "space.toml", "--seed", 0, "--quiet")
    code, _, _ = tune(*rest, "--", *program("print(-1.5)"), "{=1+1}", "{-n}", url)
    assert code == 0
    with (tmp_path / OUT / "trials.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header[-2:] == ["'=1+1", "'-n"]
    trials = json.loads((tmp_path / OUT / "result.json").read_text())["trials"]
    assert {trial["params"]["=1+1"] for trial in trials} == set(options)  # there it is unchanged
    for row, trial in zip(rows, trials, strict=True):
        option = trial["params"]["=1+1"]
        assert row[header.index("'=1+1")] == ("'" if option[0] in "=@" else "") + option
        assert row[header.index("'-n")] == str(trial["params"]["-n"])
        assert row[header.index("payoff")] == "-1.5"
    for name in ("report.html", "result.json", "trials.csv"):
        assert "hush" not in (tmp_path / OUT / name).read_text(encoding="utf-8")
    assert "api_key=***&amp;page=2" in (tmp_path / OUT / "report.html").read_text(encoding="utf-8")


def test_output_is_kept_inside_the_folder_whatever_the_study_is_called(tune, program, tmp_path):
    inner = tmp_path / "a" / "b"
    code, _, _ = tune(
        *("--maximize", "--evaluations", 1, "--quiet", "--keep-output", "--out", inner / "o"),
        *(
            "--study-name",
            "../../../escaped",
            "--int",
            "n",
            1,
            6,
            "--",
            *program("print(7)"),
            "{n}",
        ),
    )
    assert code == 0
    kept = list(tmp_path.rglob("stdout"))
    assert [path.read_text() for path in kept] == ["7\n"]
    assert kept[0].parents[2] == inner / "o" / "output"
    assert not list(tmp_path.rglob("escaped"))


def test_the_file_is_left_in_order(tune, program, tmp_path):
    assert (
        tune(
            *("--minimize", "--evaluations", 2, "--quiet", "--int", "n", 1, 9, "--"),
            *(*program("print(1)"), "{n}"),
        )[0]
        == 0
    )
    files = {path.name for path in (tmp_path / OUT).iterdir()}
    assert files == {"study.db", "report.html", "trials.csv", "result.json"}
    with sqlite3.connect(tmp_path / OUT / "study.db") as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    file.close()


@pytest.mark.parametrize("umask", [0o077, 0o022])
def test_the_umask_decides_who_may_read_the_results(tune, program, tmp_path, umask):
    before = os.umask(umask)
    try:
        code, _, _ = tune(
            *("--minimize", "--evaluations", 2, "--quiet", "--keep-output"),
            *("--int", "n", 1, 9, "--", *program("print(1)"), "{n}"),
        )
    finally:
        os.umask(before)
    assert code == 0
    written = [tmp_path / OUT, *(tmp_path / OUT).rglob("*")]
    assert {"report.html", "trials.csv", "result.json", "study.db", "stdout"} <= {
        path.name for path in written
    }
    for path in written:
        usual = 0o777 if path.is_dir() else 0o666 if path.suffix != ".db" else 0o644
        assert stat.S_IMODE(path.stat().st_mode) == usual & ~umask, path


@pytest.mark.parametrize("damage", ["empty", "without tables"])
def test_a_study_that_was_emptied_is_not_silently_begun_again(tune, program, tmp_path, damage):
    arguments = ("--minimize", "--evaluations", 3, "--int", "n", 1, 9)
    arguments = (*arguments, "--", *program("print(1)"), "{n}")
    assert tune(*arguments)[0] == 0
    folder = tmp_path / OUT
    report = (folder / "report.html").read_bytes()
    for path in folder.glob("study.db*"):
        path.unlink()
    with contextlib.closing(sqlite3.connect(folder / "study.db")) as file:
        if damage == "without tables":
            file.execute("CREATE TABLE something (x)")
            file.commit()
    (folder / "study.db").touch()
    code, _, err = tune(*arguments)
    assert code == 2
    assert "holds no study" in err
    assert "report.html is of an earlier session" in err
    assert (folder / "report.html").read_bytes() == report
    (folder / "study.db").unlink()  # to start afresh on purpose
    assert tune(*arguments)[0] == 0


def test_a_second_program_in_the_same_folder_gets_results_of_its_own(tune, program, tmp_path):
    rest = ("--minimize", "--evaluations", 2, "--quiet", "--int", "n", 1, 9, "--")
    first, second = program("print(1)", "first.py"), program("print(2)", "second.py")
    assert tune(*rest, *first, "{n}")[0] == 0
    names = ("report.html", "trials.csv", "result.json")
    before = {name: (tmp_path / OUT / name).read_bytes() for name in names}
    code, out, _ = tune(*rest, *second, "{n}")
    assert code == 0
    folders = [path for path in (tmp_path / OUT).iterdir() if path.is_dir()]
    assert len(folders) == 1
    assert str(folders[0].name) in out
    assert {name: (tmp_path / OUT / name).read_bytes() for name in names} == before
    found = json.loads((folders[0] / "result.json").read_text())
    assert folders[0].name == found["study"]["name"]
    assert {trial["payoff"] for trial in found["trials"]} == {2.0}
    assert tune(*rest, *first, "{n}")[0] == 0  # and each finds its own again
    assert tune(*rest, *second, "{n}")[0] == 0
    assert [path for path in (tmp_path / OUT).iterdir() if path.is_dir()] == folders
    assert json.loads((tmp_path / OUT / "result.json").read_text())["trials"][0]["payoff"] == 1.0
