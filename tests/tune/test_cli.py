import pytest

from tailproof.tune import patience, session

GOOD = ("--minimize", "--int", "n", "1", "9")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*GOOD,), "no program to tune"),
        ((*GOOD, "--", "no-such-program-here", "{n}"), "there is no program no-such-program-here"),
        ((*GOOD, "--", "./plain.txt", "{n}"), "not an executable file"),
        ((*GOOD, "--", "PROGRAM", "{m}", "{n}"), "unknown slot {m}"),
        ((*GOOD, "--", "PROGRAM"), "lacks {n}"),
        (("--int", "n", "1", "9", "--", "PROGRAM", "{n}"), "--minimize or --maximize"),
        (("--minimize", "--", "PROGRAM", "{n}"), "no parameters"),
        (("--minimize", "--space", "none.toml", "--", "PROGRAM", "{n}"), "none.toml"),
        (("--minimize", "--space", "plain.txt", "--", "PROGRAM", "{n}"), "not TOML"),
        ((*GOOD, "--value", "regex:(", "--", "PROGRAM", "{n}"), "not a regular expression"),
        ((*GOOD, "--evaluations", "0", "--", "PROGRAM", "{n}"), "evaluations >= 1"),
        ((*GOOD, "--evaluations", "many", "--", "PROGRAM", "{n}"), "--evaluations"),
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
    tune, program, tmp_path, monkeypatch, arguments, said
):
    monkeypatch.setattr(patience, "START_TIMEOUT", 0.0)  # for a server that may come back
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


def test_help_shows_parameters_and_an_example(tune):
    code, out, _ = tune("--help")
    assert code == 0
    assert "--float NAME LOW HIGH" in out
    assert "-- ./bench" in out


def test_interrupted_in_start_up_it_says_so(tune, program, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "prepare", interrupted)
    code, out, err = tune("--minimize", "--int", "n", 1, 9, "--", *program("print(1)"), "{n}")
    assert (code, out, err) == (130, "", "tailproof tune: interrupted.\n")
