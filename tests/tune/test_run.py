"""`tailproof tune` end to end: real programs, SQLite files."""

import contextlib
import csv
import json
import re
import socket
import sqlite3
import time
import urllib.error
import urllib.request

import pytest

from tailproof.tune.claims import tally
from tailproof.tune.study import open_storage
from tailproof.tune.urls import file_url

optuna = pytest.importorskip("optuna", reason="`tailproof tune` keeps its trials in Optuna")

OUT = "tailproof-tune"
SCRIPT = "<script>|&!"
ODD = ["; rm -r $HOME", "a b", "-x", "--", "$(id)`id`", "*?[a]", "é😀\n\t'\"\\", "", "{n}", SCRIPT]


def trials(out, url=None):
    storage = open_storage(url or file_url(out / "study.db"))
    try:
        name = storage.get_all_studies()[0].study_name
        return optuna.load_study(storage=storage, study_name=name).trials
    finally:
        storage.remove_session()
        storage.engine.dispose()


@contextlib.contextmanager
def open_study(out):
    """Give the one study of a folder, as others would open it."""
    storage = open_storage(file_url(out / "study.db"))
    try:
        yield optuna.load_study(storage=storage, study_name=None)
    finally:
        storage.remove_session()
        storage.engine.dispose()


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
    tune("--trials", 1, *rest)
    with open_study(tmp_path / OUT) as study:
        for option in ODD:
            study.enqueue_trial({"odd": option})
    code, out, _ = tune("--trials", 14, *rest)
    assert code == 0, out
    lines = [json.loads(line) for line in seen.read_text().splitlines()]
    told = [[t.params["odd"], f"--n={t.params['n']}", "{odd}"] for t in trials(tmp_path / OUT)]
    assert lines == told
    assert [option for option, _, _ in lines[1:11]] == ODD
    page = (tmp_path / OUT / "report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;" in page  # it is among the failed
    assert "<script" not in page


def test_everything_is_written_and_the_recommended_stands_beside_the_lucky(tune, program, tmp_path):
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
        *("--minimize", "--trials", 40, "--seed", 0, "--float", "x", 0, 10),
        *("--choice", "kind", "a", "b", "c", "--fixed", "k", "<b>&", "--level", 0.8, "--"),
        *(*command, "{x}", "{kind}", "{k}"),
    )
    code, out, err = tune(*arguments)
    assert code == 0
    found = json.loads((tmp_path / OUT / "result.json").read_text())
    assert abs(found["recommended"]["params"]["x"] - 3.0) < 1.5
    assert found["recommended"]["low"] <= found["recommended"]["mean"]
    assert found["recommended"]["level"] == 0.8
    assert found["lucky"]["payoff"] == min(
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
    assert page.count("data:image/svg+xml;base64,") == 3
    assert "http" not in re.sub(r"base64,[^\"]*", "", page)  # nothing is fetched
    assert "&lt;b&gt;&amp;" in page
    assert "<b>&" not in page
    assert "recommended" in out
    assert "luckiest payoff" in out
    assert re.search(r"40 of 40 trials", err)
    # Given again, there is nothing left to run.
    before = [t.datetime_start for t in trials(tmp_path / OUT)]
    assert tune(*arguments)[0] == 0
    assert [t.datetime_start for t in trials(tmp_path / OUT)] == before


def test_a_larger_budget_goes_on(tune, program, tmp_path):
    rest = ("--minimize", "--quiet", "--int", "n", 1, 9, "--", *program("print(1)"), "{n}")
    assert tune("--trials", 3, *rest)[0] == 0
    assert tune("--trials", 5, *rest)[0] == 0
    assert [t.state.name for t in trials(tmp_path / OUT)] == ["COMPLETE"] * 5


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
        ("import os; os.abort()", (), "ended by signal 6"),
        ("print('abc'); sys.exit(0)", (), "not a number: 'abc'"),
        (
            "open(sys.argv[2], 'a').write('x'); time.sleep(600)",
            ("--timeout", 500),
            "no end within 500 s",
        ),
        ("raise RuntimeError", ("--value", "regex:^(1.0)$"), "exit code 1"),
    ],
)
def test_a_failed_trial_is_kept_with_its_output(
    tune, program, tmp_path, jumping_clock, how, more, reason
):
    command = program(FAILING.replace("{how}", how))
    code, _, err = tune(
        *("--maximize", "--trials", 8, "--seed", 0, *more),
        *("--int", "n", 1, 6, "--", *command, "{n}", jumping_clock),
    )
    assert code == 0
    states = {t.params["n"]: t.state.name for t in trials(tmp_path / OUT)}
    assert len(trials(tmp_path / OUT)) == 8  # failures count
    for n, state in states.items():
        assert state == ("FAIL" if n <= 3 else "COMPLETE")
    failed = [t for t in trials(tmp_path / OUT) if t.state.name == "FAIL"]
    assert failed
    for one in failed:
        noted = one.user_attrs["outcome"]
        assert noted["reason"] == reason
        assert noted["stderr"].startswith("oh <no>")
        assert noted["stdout"].startswith("before")
    assert f"failed: {reason}" in err
    assert "oh &lt;no&gt;" in (tmp_path / OUT / "report.html").read_text(encoding="utf-8")


def test_the_exit_code_and_the_time_can_be_payoffs(tune, program, tmp_path):
    command = program("import sys; sys.exit(int(sys.argv[1]) % 3)")
    rest = ("--maximize", "--trials", 6, "--quiet", "--int", "n", 1, 6, "--", *command, "{n}")
    assert tune("--value", "exit-code", *rest)[0] == 0
    assert all(t.value == t.params["n"] % 3 for t in trials(tmp_path / OUT))
    rest = (*rest[:-5], *program("", "empty.py"), "{n}")
    assert tune("--value", "wall-time", "--out", "timed", *rest)[0] == 0
    assert all(t.value > 0.0 for t in trials(tmp_path / "timed"))


def test_the_other_stream_can_be_read_and_all_output_kept(tune, program, tmp_path):
    command = program("import sys; print(9); print(2, file=sys.stderr)")
    code, _, _ = tune(
        *("--maximize", "--trials", 2, "--quiet", "--read", "stderr", "--keep-output"),
        *("--study-name", "s", "--int", "n", 1, 6, "--", *command, "{n}"),
    )
    assert code == 0
    assert [t.value for t in trials(tmp_path / OUT)] == [2.0, 2.0]
    kept = tmp_path / OUT / "output" / "s"
    assert (kept / "000001" / "stdout").read_text() == "9\n"
    assert (kept / "000001" / "stderr").read_text() == "2\n"


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
    arguments = ("--minimize", "--trials", 30, "--max-failures", 4, "--int", "n", 1, 9, "--quiet")
    arguments += ("--", *command, "{n}")
    code, _, err = tune(*arguments)
    assert code == 1
    assert len(trials(tmp_path / OUT)) == 4
    assert "4 trials failed and none gave a payoff" in err
    assert "no such model" in err
    flag.touch()  # mended: the same command goes on, and the four failures count
    assert tune(*arguments)[0] == 0
    assert tally(trials(tmp_path / OUT)).finished == 30
    assert tally(trials(tmp_path / OUT)).failed == 4


def test_a_failed_setting_is_tried_again_on_wish(tune, program, tmp_path):
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
        *("--minimize", "--trials", 4, "--retry", 2, "--quiet"),
        *("--int", "n", 1, 9, "--", *command, "{n}"),
    )
    assert code == 0
    found = tally(trials(tmp_path / OUT))
    assert (found.complete, found.failed) == (4, 0)
    assert len(count.read_text()) == 12  # each setting twice in vain


GOOD = ("--minimize", "--int", "n", "1", "9")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*GOOD,), "no program to tune"),
        ((*GOOD, "--", "no-such-program-here", "{n}"), "there is no program no-such-program-here"),
        ((*GOOD, "--", "./plain.txt", "{n}"), "not an executable file"),
        ((*GOOD, "--", "PROGRAM", "{m}", "{n}"), "unknown slot {m}"),
        ((*GOOD, "--", "PROGRAM"), "{n} is missing"),
        (("--int", "n", "1", "9", "--", "PROGRAM", "{n}"), "--minimize or --maximize"),
        (("--minimize", "--", "PROGRAM", "{n}"), "no parameters"),
        (("--minimize", "--space", "none.toml", "--", "PROGRAM", "{n}"), "none.toml"),
        (("--minimize", "--space", "plain.txt", "--", "PROGRAM", "{n}"), "not TOML"),
        ((*GOOD, "--value", "regex:(", "--", "PROGRAM", "{n}"), "not a regular expression"),
        ((*GOOD, "--trials", "0", "--", "PROGRAM", "{n}"), "trials >= 1"),
        ((*GOOD, "--trials", "many", "--", "PROGRAM", "{n}"), "--trials"),
        ((*GOOD, "--timeout", "-1", "--", "PROGRAM", "{n}"), "timeout > 0"),
        ((*GOOD, "--level", "1", "--", "PROGRAM", "{n}"), "level < 1"),
        ((*GOOD, "--storage", "nonsense", "--", "PROGRAM", "{n}"), "cannot open the storage"),
        (
            (
                *GOOD,
                "--storage",
                "postgresql+psycopg://u:hush@127.0.0.1:1/d",
                "--",
                "PROGRAM",
                "{n}",
            ),
            "cannot open the storage postgresql+psycopg://u:***@127.0.0.1:1/d",
        ),
        ((*GOOD, "--storage", "sqlite:////proc/x/s.db", "--", "PROGRAM", "{n}"), "cannot open"),
        ((*GOOD, "--out", "plain.txt/out", "--", "PROGRAM", "{n}"), "cannot write into"),
        ((*GOOD, "--int", "n", "1", "9", "--", "PROGRAM", "{n}"), "defined twice"),
        ((*GOOD, "--float", "x", "a", "1", "--", "PROGRAM", "{n}"), "'a' is not a number"),
        ((*GOOD, "--unknown", "--", "PROGRAM", "{n}"), "unknown argument '--unknown'"),
        ((*GOOD, "--choice", "c", "a", "\udcff", "--", "PROGRAM", "{n}", "{c}"), "must be UTF-8"),
        ((*GOOD, "--fixed", "c", "\udcff", "--", "PROGRAM", "{n}", "{c}"), "must be UTF-8"),
        ((*GOOD, "--", "PROGRAM", "{n}", "\udcff"), "must be UTF-8"),
        ((*GOOD, "--float", "x", "-1e308", "1e308", "--", "PROGRAM", "{n}", "{x}"), "<= 1e+300"),
        ((*GOOD, "postgresql://u:hush@h/d", "--", "PROGRAM", "{n}"), "unknown argument"),
        (("--dashboard", "--out", "nothing"), "there is no study in"),
        (("--dashboard", "--storage", "sqlite:///nothing.db"), "there is no study in nothing.db"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_before_anything_runs(
    tune, program, tmp_path, arguments, said
):
    ran = tmp_path / "ran"
    command = program(f"open({str(ran)!r}, 'w')")
    (tmp_path / "plain.txt").write_text("not = toml = file")
    given = [part for one in arguments for part in (command if one == "PROGRAM" else [one])]
    code, out, err = tune(*given)
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1, err
    assert said in err
    assert err.startswith("tailproof tune: ")
    assert "hush" not in err
    assert not ran.exists()
    assert not (tmp_path / "nothing.db").exists()


def test_another_command_in_the_same_study_is_refused(tune, program):
    rest = ("--minimize", "--trials", 1, "--quiet", "--study-name", "s", "--int", "n", 1, 9, "--")
    assert tune(*rest, *program("print(1)"), "{n}")[0] == 0
    code, _, err = tune(*rest, *program("print(1)"), "{n}", "more")
    assert code == 2
    assert "another command" in err


def test_the_stream_is_a_part_of_the_study(tune, program):
    rest = ("--minimize", "--trials", 1, "--quiet", "--study-name", "s", "--int", "n", 1, 9)
    command = ("--", *program("import sys; print(1); print(2, file=sys.stderr)"), "{n}")
    assert tune(*rest, *command)[0] == 0
    code, _, err = tune("--read", "stderr", *rest, *command)
    assert code == 2
    assert "another read" in err


def test_trials_of_others_are_shown_and_left_out_of_the_model(tune, program, tmp_path):
    rest = ("--minimize", "--quiet", "--int", "n", 1, 9, "--choice", "c", "a", "b")
    rest += ("--fixed", "k", "v", "--", *program("import sys; print(sys.argv[1])"))
    rest += ("{n}", "{c}", "{k}")
    assert tune("--trials", 3, *rest)[0] == 0
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
    code, _, err = tune("--trials", 10, *rest)
    assert (code, err) == (0, "")
    with open_study(tmp_path / OUT) as study:
        study.ask()  # runs, and has no setting
    code, out, err = tune("--trials", 10, *rest)
    assert (code, err) == (0, "")
    assert "5 payoffs, 1 failed trials, 4 left out" in out
    found = json.loads(
        (tmp_path / OUT / "result.json").read_text(), parse_constant=lambda name: pytest.fail(name)
    )
    assert found["left_out"] == 4
    assert found["lucky"]["payoff"] >= 1
    payoffs = [t["payoff"] for t in found["trials"]]
    assert {-1000.0, "-inf", -5.0, -6.0} <= set(payoffs)
    with (tmp_path / OUT / "trials.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["payoff"]: row for row in csv.DictReader(file)}
    assert (rows["-1000.0"]["n"], rows["-1000.0"]["tamed"]) == ("-1000", "")
    assert (rows["-inf"]["n"], rows["-inf"]["c"]) == ("3", "a")
    assert (rows["-5.0"]["n"], rows["-5.0"]["c"]) == ("3", "")  # nothing is filled in
    assert {row["k"] for row in rows.values()} == {"v"}
    running = [t for t in found["trials"] if t["state"] == "running"]
    assert [t["params"] for t in running] == [{}]
    page = (tmp_path / OUT / "report.html").read_text(encoding="utf-8")
    assert "4 left out" in page


@pytest.mark.parametrize("port", [0, 65536, 99999, "taken"])
def test_a_port_that_cannot_be_used_is_said_before_anything_is_announced(tune, program, port):
    pytest.importorskip("optuna_dashboard", reason="the extra `dashboard` brings it")
    assert tune(*GOOD, "--trials", 1, "--quiet", "--", *program("print(1)"), "{n}")[0] == 0
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1] if port == "taken" else port
        code, out, err = tune("--dashboard", "--port", number)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "port" in err


def test_the_dashboard_serves_the_study_on_loopback(tune, shell, program):
    pytest.importorskip("optuna_dashboard", reason="the extra `dashboard` brings it")
    rest = ("--study-name", "mine", "--", *program("print(1)"), "{n}")
    assert tune(*GOOD, "--trials", 1, "--quiet", *rest)[0] == 0
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    process = shell("--dashboard", "--port", port)
    said = process.stdout.readline()
    assert f"http://127.0.0.1:{port}/" in said
    until = time.monotonic() + 120.0
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/studies", timeout=60) as page:
                assert b'"mine"' in page.read()
            break
        except urllib.error.URLError:  # announced, not yet there
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
    process.terminate()
    process.communicate(timeout=120)


def test_a_missing_extra_is_named(tune, program, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "optuna_dashboard", None)
    code, _, err = tune("--dashboard")
    assert code == 2
    assert "pip install '.[dashboard]'" in err


def test_help_shows_parameters_and_an_example(tune):
    code, out, _ = tune("--help")
    assert code == 0
    assert "--float NAME LOW HIGH" in out
    assert "-- ./bench" in out


def test_the_file_is_left_in_order(tune, program, tmp_path):
    assert (
        tune(
            *("--minimize", "--trials", 2, "--quiet", "--int", "n", 1, 9, "--"),
            *(*program("print(1)"), "{n}"),
        )[0]
        == 0
    )
    files = {path.name for path in (tmp_path / OUT).iterdir()}
    assert files == {"study.db", "report.html", "trials.csv", "result.json"}
    with sqlite3.connect(tmp_path / OUT / "study.db") as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    file.close()
