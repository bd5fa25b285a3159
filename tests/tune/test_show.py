"""What is shown: the live table, the answer, the report."""

import io
import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from tailproof.search.space.parameters import Choice, Fixed, Float, Int
from tailproof.search.space.space import Space
from tailproof.tune import demo_program, pictures
from tailproof.tune.answer import conclude, grid
from tailproof.tune.claims import LOST, Tally
from tailproof.tune.export import summary
from tailproof.tune.live import Live, setting
from tailproof.tune.report import report, rows
from tailproof.tune.study import distributions
from tailproof.tune.work import Event

optuna = pytest.importorskip("optuna", reason="`tailproof tune` keeps its trials in Optuna")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def feed(stream, monkeypatch, **more):
    """Show three trials, one a second; return what was written."""
    monkeypatch.setenv("TERM", "xterm")
    now = [0.0]
    live = Live(4, True, stream=stream, clock=lambda: now[0], **more)
    with live:
        live.event(Event("look", Tally()))
        for i, value in enumerate([2.5, None, 1.5]):
            now[0] += 10.0
            live.event(Event("start", Tally(complete=i), i, {"n": i}))
            live.event(Event("end", Tally(complete=i), i, {"n": i}, value, 0.5, "exit \x1b[31m1"))
        live.event(Event("look", Tally(complete=2, failed=1)))
    return stream.getvalue()


def test_plain_lines_without_escapes_where_there_is_no_terminal(monkeypatch):
    shown = feed(io.StringIO(), monkeypatch)
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert "trial 1 failed: exit \\x1b[31m1" in shown
    assert shown.endswith("3 of 4 trials, 1 failed, about 10 s left\n")


def test_a_terminal_gets_a_table_in_place(monkeypatch):
    shown = feed(Terminal(), monkeypatch)
    assert "\x1b[31m" not in shown  # what programs print cannot paint
    last = shown.rpartition("F\x1b[2K[")[2]
    assert last.startswith("##################......] 3 of 4 trials")
    assert "luckiest payoff of this session: 1.5 (trial 2)" in last
    assert "n=2" in last


def test_quiet_is_quiet(monkeypatch):
    assert feed(Terminal(), monkeypatch, quiet=True) == ""
    assert feed(io.StringIO(), monkeypatch, quiet=True) == ""


def test_settings_fit_on_a_line():
    assert setting({"a": 1, "b": True, "c": 'x "y"\n', "d": 0.1 + 0.2, "e": ""}) == (
        'a=1 b=true c="x \\"y\\"\\n" d=0.3 e=""'
    )


ACT, SCRIPT = "$act_{x}$ <i>", "<script>alert(1)</script>"
SPACE = Space(
    {
        "lr": Float(1e-4, 1e-1, log=True),
        "layers": Int(1, 6),
        ACT: Choice("relu", SCRIPT, "日本\n", True, 3),
        "k": Fixed("<b>"),
    }
)
ABOUT = {
    "name": "s<1>",
    "storage": "sqlite:///x&y",
    "title": "bench <title>",
    "command": "bench '{lr}' <x>",
    "value": "last-line",
    "direction": "minimize",
    "go_on": "tailproof tune <again>",
}


@pytest.fixture(scope="module")
def study():
    """A study with heavy-tailed payoffs, failures, and trials that do not count."""
    made = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    rng = np.random.default_rng(0)
    space = distributions(SPACE)
    for i in range(40):
        if i == 9:  # so that it stands among the failed
            made.enqueue_trial({ACT: SCRIPT})
        trial = made.ask(space)
        mean = (math.log10(trial.params["lr"]) + 2.5) ** 2 + trial.params["layers"]
        if i % 10 == 9:
            kind = LOST if i == 19 else "failed"
            trial.set_user_attr("outcome", {"kind": kind, "reason": "a<b", "stderr": "x</pre>y"})
            made.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            made.tell(trial, mean + 0.1 * rng.standard_t(1.5))
    return made


@pytest.fixture(scope="module")
def answer(study):
    return conclude(study.trials, SPACE, minimize=True, level=0.9, seed=0)


def test_the_answer_counts_what_counts(answer, study):
    assert len(answer.values) == 36
    assert len(answer.failed) == 3
    assert len(answer.trials) == 39
    assert answer.course[-1][0] == 36
    assert answer.recommended.total_payoffs == 36
    assert answer.recommended.params["k"] == "<b>"
    assert answer.recommended.best_observed_value == study.best_value
    assert answer.recommended.params["layers"] <= 2
    assert answer.tamed.shape == (36,)
    assert answer.tails is not None
    assert [one.name for one in answer.slices] == list(SPACE.names)[:3]


def test_there_is_no_answer_without_a_payoff(study):
    failed = [t for t in study.trials if t.state.name == "FAIL"]
    assert conclude(failed, SPACE, minimize=True, level=0.9, seed=0) is None


def test_one_payoff_is_enough_for_a_report(study):
    one = conclude(study.trials[:1], SPACE, minimize=True, level=0.9, seed=0)
    assert "1 payoffs" in report(one, ABOUT)


def test_the_report_escapes_everything(answer):
    page = report(answer, ABOUT)
    for harmful in ("<script", "<i>", "<b>", "<x>", "<again>", "s<1>", "<title>alert", "a<b"):
        assert harmful not in page.replace("<title>tailproof", "")
    assert "x&lt;/pre&gt;y" in page
    assert "&lt;script&gt;" in page
    assert page.count("<h2>") == 8


def test_every_picture_is_well_formed_and_holds_no_script(answer):
    for draw in (pictures.convergence, pictures.slices, pictures.by_setting):
        root = ET.fromstring(draw(answer))
        assert root.tag.endswith("svg")
        assert not [one for one in root.iter() if one.tag.endswith("script")]


def test_the_truth_stands_beside_where_it_is_known(answer):
    table = rows(answer, lambda params: float(params["layers"]))
    assert table[0][-1] == "true mean"
    assert table[1][-1] == f"{answer.recommended.params['layers']:.4g}"
    made = summary(answer, ABOUT, lambda params: 7.0)
    assert made["recommended"]["true_mean"] == made["lucky"]["true_mean"] == 7.0


def test_slices_look_at_every_value_there_is():
    space = Space(a=Int(1, 5, log=True), b=Float(0, 1, step=0.25), c=Float(0, 1), d=Int(0, 10**6))
    assert grid(space, "a") == [1, 2, 3, 4, 5]
    assert grid(space, "b") == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert grid(space, "c")[0] == 0.0
    assert grid(space, "c")[-1] == 1.0
    assert grid(space, "d")[-1] == 10**6


class Draws:
    """Hands out given numbers as if they were random."""

    def __init__(self, *numbers):
        self._left = list(numbers)

    def random(self):
        return self._left.pop()


def test_the_demo_program_follows_its_documented_law():
    params = {"threads": 4, "cache": "fifo", "batch": 0.6}
    # Parts of the quantile function in the middle of 300 x 300 equal parts of the two draws: their
    # mean is that of the law, but for (1 / 300)^(1 - 1 / 1.7) = 10 % of its heavy part, at most.
    parts = (np.arange(300) + 0.5) / 300
    for cache, low in (("fifo", 0.1), ("lru", 0.4)):
        params["cache"] = cache
        truth = demo_program.truth(params)
        pairs = [Draws(one, other) for one in parts[::3] for other in parts]
        drawn = np.array([demo_program.latency(params, pair) for pair in pairs])
        assert 0.9 * truth < drawn.mean() < truth
        assert drawn.min() >= 0.999 * low * truth
    settings = [
        {"threads": t, "cache": c, "batch": b}
        for t in range(1, 65)
        for c in demo_program.CACHES
        for b in np.linspace(0.0, 1.0, 21)
    ]
    best = min(settings, key=demo_program.truth)
    assert (best["threads"], best["cache"], round(best["batch"], 9)) == (16, "lru", 0.35)


def test_the_demo_program_draws_anew_unless_it_is_seeded(monkeypatch, capsys):
    def once():
        demo_program.main(["--threads", "4", "--cache", "lru", "--batch", "0.5"])
        return capsys.readouterr().out

    assert once() != once()
    monkeypatch.setenv(demo_program.SEED, "1")
    monkeypatch.setenv("TAILPROOF_TRIAL", "5")
    first = once()
    assert first == once()
    monkeypatch.setenv("TAILPROOF_TRIAL", "6")
    assert first != once()
