"""`tailproof tune` end to end: programs that fail, and what is said and kept of it."""

import csv
import json
import re

import pytest

from tailproof.search.space.parameters import Int
from tailproof.search.space.space import Space
from tailproof.tune import session
from tailproof.tune.request import Request
from tailproof.tune.trial_queue import count_trials
from tune_studies import OUT, stored_trials

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
