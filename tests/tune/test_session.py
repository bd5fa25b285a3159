"""`tailproof tune` end to end: real programs, SQLite files."""

import contextlib
import csv
import json
import os
import shlex
import signal

import pytest

from tailproof.search.space.parameters import Int
from tailproof.search.space.space import Space
from tailproof.tune import session
from tailproof.tune.request import Request
from tailproof.tune.study import opened_storage
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


def test_a_larger_budget_goes_on(tune, program, tmp_path):
    rest = ("--minimize", "--quiet", "--int", "n", 1, 9, "--", *program("print(1)"), "{n}")
    assert tune("--evaluations", 3, *rest)[0] == 0
    assert tune("--evaluations", 5, *rest)[0] == 0
    assert [t.state.name for t in stored_trials(tmp_path / OUT)] == ["COMPLETE"] * 5


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
    assert "5 payoffs, 1 failed trial, 4 left out" in out
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


def test_the_command_in_a_complete_report_goes_on(tune, program, tmp_path):
    rest = ("--minimize", "--evaluations", 3, "--quiet", "--int", "n", 1, 9, "--")
    assert tune(*rest, *program("print(1)"), "{n}")[0] == 0
    study = json.loads((tmp_path / OUT / "result.json").read_text())["study"]
    name, command, *again = shlex.split(study["resume"])
    assert (name, command) == ("tailproof", "tune")
    assert tune(*again)[0] == 0
    assert len(stored_trials(tmp_path / OUT)) == 6
