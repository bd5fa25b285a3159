"""`tailproof tune` end to end: real programs, SQLite files."""

import contextlib
import csv
import json
import os
import re
import shlex
import signal
import sqlite3
import stat

import pytest

from tailproof.search.space.parameters import Int
from tailproof.search.space.space import Space
from tailproof.tune import session
from tailproof.tune.request import Request
from tailproof.tune.study import opened_storage
from tailproof.tune.trial_queue import count_trials
from tailproof.tune.urls import file_url
from tune_studies import OUT, optuna, stored_trials

SCRIPT = "<script>|&!"
ODD = ["; rm -r $HOME", "a b", "-x", "--", "$(id)`id`", "*?[a]", "é😀\n\t'\"\\", "", "{n}", SCRIPT]


@contextlib.contextmanager
def open_study(out):
    """Give the one study of a folder, as others would open it."""
    with opened_storage(file_url(out / "study.db")) as storage:
        yield optuna.load_study(storage=storage, study_name=None)


def test_odd_options_reach_the_program_unchanged(tune, program, tmp_path):
    seen = tmp_path / "seen"
    command = program(
        f"""
        import json, sys
        with open({str(seen)!r}, "a") as file:
            file.write(json.dumps(sys.argv[1:]) + "\\n")
        if "<script>" in sys.argv[1]:
            sys.exit(sys.argv[1])
        print(1.0)
        """
    )
    (tmp_path / "space.toml").write_text(
        f"odd = {{ choice = {json.dumps(ODD, ensure_ascii=False)} }}\nn = {{ int = [1, 9] }}",
        encoding="utf-8",
    )
    rest = ("--minimize", "--space", "space.toml", "--seed", 1, "--quiet", "--max-failures", 0)
    rest += ("--", *command, "{odd}", "--n={n}", "{{odd}}")
    tune("--evaluations", 1, *rest)
    with open_study(tmp_path / OUT) as study:
        for option in ODD:
            study.enqueue_trial({"odd": option})
    code, out, _ = tune("--evaluations", 14, *rest)
    assert code == 0, out
    lines = [json.loads(line) for line in seen.read_text().splitlines()]
    params = [trial.params for trial in stored_trials(tmp_path / OUT)]
    assert lines == [[p["odd"], f"--n={p['n']}", "{odd}"] for p in params]
    assert [option for option, _, _ in lines[1:11]] == ODD
    page = (tmp_path / OUT / "report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;" in page  # it is among the failed
    assert "<script" not in page


def test_everything_is_written_and_the_recommended_stands_beside_the_best_observed(
    tune, program, tmp_path
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


def test_a_larger_budget_goes_on(tune, program, tmp_path):
    rest = ("--minimize", "--quiet", "--int", "n", 1, 9, "--", *program("print(1)"), "{n}")
    assert tune("--evaluations", 3, *rest)[0] == 0
    assert tune("--evaluations", 5, *rest)[0] == 0
    assert [t.state.name for t in stored_trials(tmp_path / OUT)] == ["COMPLETE"] * 5


FAILING = """
import sys, time
print("before", flush=True)
if sys.argv[1] in ("1", "2", "3"):
    print("oh <no>", file=sys.stderr, flush=True)
    {how}
print(1.0)
"""


@pytest.mark.parametrize(
    ("how", "more", "reason"),
    [
        ("sys.exit(7)", (), "exit code 7"),
        (
            "open(sys.argv[2], 'a').write('x'); time.sleep(600)",
            ("--timeout", 500),
            "no end within 500 s",
        ),
    ],
)
def test_a_failed_trial_is_kept_with_its_output(
    tune, program, tmp_path, jumping_clock, how, more, reason
):
    command = program(FAILING.replace("{how}", how))
    code, _, err = tune(
        *("--maximize", "--evaluations", 8, "--seed", 0, *more),
        *("--int", "n", 1, 6, "--", *command, "{n}", jumping_clock),
    )
    assert code == 0
    states = {t.params["n"]: t.state.name for t in stored_trials(tmp_path / OUT)}
    assert len(stored_trials(tmp_path / OUT)) == 8  # failures count
    for n, state in states.items():
        assert state == ("FAIL" if n <= 3 else "COMPLETE")
    failed = [t for t in stored_trials(tmp_path / OUT) if t.state.name == "FAIL"]
    assert failed
    for trial in failed:
        noted = trial.user_attrs["outcome"]
        assert noted["reason"] == reason
        assert noted["stderr"].startswith("oh <no>")
        assert noted["stdout"].startswith("before")
    assert f"failed: {reason}" in err
    assert "oh &lt;no&gt;" in (tmp_path / OUT / "report.html").read_text(encoding="utf-8")


def test_the_exit_code_and_the_time_can_be_payoffs(tune, program, tmp_path):
    command = program("import sys; sys.exit(int(sys.argv[1]) % 3)")
    rest = ("--maximize", "--evaluations", 6, "--quiet", "--int", "n", 1, 6, "--", *command, "{n}")
    assert tune("--value", "exit-code", *rest)[0] == 0
    assert all(t.value == t.params["n"] % 3 for t in stored_trials(tmp_path / OUT))
    rest = (*rest[:-5], *program("", "empty.py"), "{n}")
    assert tune("--value", "wall-time", "--out", "timed", *rest)[0] == 0
    assert all(t.value > 0.0 for t in stored_trials(tmp_path / "timed"))


def test_the_other_stream_can_be_read_and_all_output_kept(tune, program, tmp_path):
    command = program("import sys; print(9); print(2, file=sys.stderr)")
    code, _, _ = tune(
        *("--maximize", "--evaluations", 2, "--quiet", "--read", "stderr", "--keep-output"),
        *("--study-name", "s", "--int", "n", 1, 6, "--", *command, "{n}"),
    )
    assert code == 0
    assert [t.value for t in stored_trials(tmp_path / OUT)] == [2.0, 2.0]
    kept = tmp_path / OUT / "output" / "s"
    assert (kept / "000001" / "stdout").read_text() == "9\n"
    assert (kept / "000001" / "stderr").read_text() == "2\n"


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


def test_a_broken_command_does_not_burn_the_budget(tune, program, tmp_path):
    flag = tmp_path / "mended"
    command = program(
        f"""
        import os, sys
        if not os.path.exists({str(flag)!r}):
            sys.exit("no such model")
        print(1)
        """
    )
    arguments = ("--minimize", "--evaluations", 30, "--max-failures", 4, "--quiet")
    arguments += ("--int", "n", 1, 9, "--", *command, "{n}")
    code, _, err = tune(*arguments)
    assert code == 1
    assert len(stored_trials(tmp_path / OUT)) == 4
    assert "4 trials failed and none gave a payoff" in err
    assert "no such model" in err
    flag.touch()  # mended: the same command goes on, and the four failures count
    assert tune(*arguments)[0] == 0
    assert count_trials(stored_trials(tmp_path / OUT)).finished == 30
    assert count_trials(stored_trials(tmp_path / OUT)).failed == 4


def test_long_last_lines_and_control_characters_of_a_failing_program_are_cut_and_escaped(
    tune, program, tmp_path
):
    command = program(
        """
        import sys
        if int(sys.argv[1]) < 3:
            sys.exit("\\x1b[2J\\x07" + "x" * 9000 + "\\n\\x1b]0;title\\x07" + "last " * 1000)
        print(1)
        """
    )
    rest = ("--evaluations", 3, "--max-failures", 2, "--quiet", "--seed", 0)
    code, _, err = tune("--minimize", *rest, "--int", "n", 1, 2, "--", *command, "{n}")
    assert code == 1
    assert "  | \\x1b[2J\\x07xxx" in err
    assert "  | \\x1b]0;title\\x07last last" in err
    assert max(map(len, err.splitlines())) <= 210
    assert "\x1b" not in err
    assert "\x07" not in err
    code, _, _ = tune(
        *("--minimize", *rest, "--out", "o", "--max-failures", 0, "--evaluations", 8),
        *("--int", "n", 1, 4, "--", *command, "{n}"),
    )
    assert code == 0
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    kept = re.findall(r"<pre>([^<]*last last[^<]*)</pre>", page)
    assert kept
    assert max(map(len, kept)) <= 400
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", page)


def test_a_failed_setting_is_tried_again_on_request(tune, program, tmp_path):
    count = tmp_path / "count"
    command = program(
        f"""
        import sys
        with open({str(count)!r}, "a+") as file:
            file.write("x")
            file.seek(0)
            sys.exit(1) if len(file.read()) % 3 else print(1)
        """
    )
    code, _, _ = tune(
        *("--minimize", "--evaluations", 4, "--retry", 2, "--quiet"),
        *("--int", "n", 1, 9, "--", *command, "{n}"),
    )
    assert code == 0
    found = count_trials(stored_trials(tmp_path / OUT))
    assert (found.complete, found.failed) == (4, 0)
    assert len(count.read_text()) == 12  # each setting twice in vain


def test_another_command_in_the_same_study_is_refused(tune, program):
    rest = ("--minimize", "--evaluations", 1, "--quiet", "--study-name", "s", "--int", "n", 1, 9)
    command = ("--", *program("print(1)"), "{n}")
    assert tune(*rest, *command)[0] == 0
    code, _, err = tune(*rest, *command, "more")
    assert code == 2
    assert "another command" in err


def test_the_stream_is_a_part_of_the_study(tune, program):
    rest = ("--minimize", "--evaluations", 1, "--quiet", "--study-name", "s", "--int", "n", 1, 9)
    command = ("--", *program("import sys; print(1); print(2, file=sys.stderr)"), "{n}")
    assert tune(*rest, *command)[0] == 0
    code, _, err = tune("--read", "stderr", *rest, *command)
    assert code == 2
    assert "another read" in err


def test_trials_of_others_are_shown_and_left_out_of_the_model(tune, program, tmp_path):
    rest = ("--minimize", "--quiet", "--int", "n", 1, 9, "--choice", "c", "a", "b")
    rest += ("--fixed", "k", "v", "--", *program("import sys; print(sys.argv[1])"))
    rest += ("{n}", "{c}", "{k}")
    assert tune("--evaluations", 3, *rest)[0] == 0
    ints = optuna.distributions.IntDistribution
    with open_study(tmp_path / OUT) as study:
        study.enqueue_trial({"n": -1000})  # out of range: it would be the best by far
        study.enqueue_trial({"c": "neither"})
        c = optuna.distributions.CategoricalDistribution(("a", "b"))
        for value, params, space in (
            (float("-inf"), {"n": 3, "c": "a"}, {"n": ints(1, 9), "c": c}),
            (-5.0, {"n": 3}, {"n": ints(1, 9)}),
            (-6.0, {"n": 50, "c": "a"}, {"n": ints(1, 99), "c": c}),
        ):
            study.add_trial(
                optuna.trial.create_trial(params=params, distributions=space, value=value)
            )
    code, _, err = tune("--evaluations", 10, *rest)
    assert (code, err) == (0, "")
    with open_study(tmp_path / OUT) as study:
        study.ask()  # runs, and has no setting
    code, out, err = tune("--evaluations", 10, *rest)
    assert (code, err) == (0, "")
    assert "5 payoffs, 1 failed trials, 4 left out" in out
    found = json.loads(
        (tmp_path / OUT / "result.json").read_text(), parse_constant=lambda name: pytest.fail(name)
    )
    assert found["left_out"] == 4
    assert found["best_observed"]["payoff"] >= 1
    payoffs = [t["payoff"] for t in found["trials"]]
    assert {-1000.0, "-inf", -5.0, -6.0} <= set(payoffs)
    with (tmp_path / OUT / "trials.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["payoff"]: row for row in csv.DictReader(file)}
    assert (rows["-1000.0"]["n"], rows["-1000.0"]["clipped"]) == ("-1000", "")
    assert (rows["-inf"]["n"], rows["-inf"]["c"]) == ("3", "a")
    assert (rows["-5.0"]["n"], rows["-5.0"]["c"]) == ("3", "")  # nothing is filled in
    assert {row["k"] for row in rows.values()} == {"v"}
    running = [t for t in found["trials"] if t["state"] == "running"]
    assert [t["params"] for t in running] == [{}]
    page = (tmp_path / OUT / "report.html").read_text(encoding="utf-8")
    assert "4 left out" in page


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


@pytest.mark.parametrize(("times", "code", "written"), [(1, 0, True), (3, 130, False)])
def test_signals_while_the_report_is_written(
    program, tmp_path, monkeypatch, capsys, times, code, written
):
    analyze = session.analyze

    def interrupted(*given, **more):
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGTERM)
        return analyze(*given, **more)

    monkeypatch.setattr(session, "analyze", interrupted)
    request = Request(
        command=(*program("print(1)"), "{n}"),
        space=Space(n=Int(1, 9)),
        minimize=True,
        evaluations=2,
        quiet=True,
        out=tmp_path / "o",
    )
    assert session.run(request).exit_code == code
    assert (tmp_path / "o" / "report.html").exists() == written
    said = capsys.readouterr().err
    assert said == ("" if written else "tailproof tune: interrupted; nothing more is written.\n")


def test_what_goes_wrong_after_the_start_is_another_exit_code(
    program, tmp_path, monkeypatch, capsys
):
    def lost(*_):
        raise OSError(13, "not allowed: postgresql://me:hush@host/db")

    monkeypatch.setattr(session, "write_csv", lost)
    request = Request(
        command=(*program("print(1)"), "{n}"),
        space=Space(n=Int(1, 9)),
        minimize=True,
        evaluations=2,
        quiet=True,
        out=tmp_path / "o",
    )
    assert session.run(request).exit_code == 1
    said = capsys.readouterr().err
    assert said.startswith("tailproof tune: ")
    assert len(said.splitlines()) == 1
    assert "hush" not in said


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


def test_a_session_in_which_everything_failed_leaves_a_report_with_the_reasons(
    tune, program, tmp_path
):
    command = program("import sys; print('x <y>', file=sys.stderr); sys.exit(int(sys.argv[1]) % 2)")
    rest = ("--minimize", "--evaluations", 6, "--seed", 0, "--quiet", "--int", "n", 1, 9)
    code, out, err = tune(*rest, "--", *command, "{n}")
    assert code == 1
    assert "all of 6 trials failed" in out
    assert "The last failure: " in err
    page = (tmp_path / OUT / "report.html").read_text(encoding="utf-8")
    for shown in (
        "exit code 1",
        "the program printed nothing",
        "x &lt;y&gt;",
        "Resuming",
        "--evaluations 12",
    ):
        assert shown in page, shown
    found = json.loads((tmp_path / OUT / "result.json").read_text())
    assert found["recommendation"] is None
    assert found["failed"] == len(found["trials"]) == 6
    with (tmp_path / OUT / "trials.csv").open(newline="", encoding="utf-8") as file:
        assert [row["state"] for row in csv.DictReader(file)] == ["fail"] * 6


def test_the_command_in_a_complete_report_goes_on(tune, program, tmp_path):
    rest = ("--minimize", "--evaluations", 3, "--quiet", "--int", "n", 1, 9, "--")
    assert tune(*rest, *program("print(1)"), "{n}")[0] == 0
    study = json.loads((tmp_path / OUT / "result.json").read_text())["study"]
    name, command, *again = shlex.split(study["resume"])
    assert (name, command) == ("tailproof", "tune")
    assert tune(*again)[0] == 0
    assert len(stored_trials(tmp_path / OUT)) == 6
