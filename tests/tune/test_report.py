import xml.etree.ElementTree as ET

from tailproof._util.html import render
from tailproof.search.space.parameters import Float
from tailproof.search.space.space import Space
from tailproof.tune.analysis import analyze
from tailproof.tune.report import PICTURES, pictures, report_page, report_values
from tailproof.tune.study import distributions
from tune_studies import SPACE, optuna

STUDY = {
    "name": "s<1>",
    "storage": "sqlite:///x&y",
    "title": "bench <title>",
    "command": "bench '{lr}' <x>",
    "value": "last-line",
    "direction": "minimize",
    "complete": True,
    "seed": None,
    "environment": {"Python": "3 <x>"},
    "resume": "tailproof tune <again>",
}


def test_one_payoff_is_enough_for_a_report(study, real_pictures):
    first = analyze(study.trials[:1], SPACE, minimize=True, level=0.9, seed=0)
    assert "1 payoff, " in report_page(report_values(first, STUDY))


def test_the_report_escapes_everything(analysis, real_pictures):
    page = report_page(report_values(analysis, STUDY))
    for harmful in ("<script", "<i>", "<b>", "<x>", "<again>", "s<1>", "<title>alert", "a<b"):
        assert harmful not in page.replace("<title>tailproof", "")
    assert "x&lt;/pre&gt;y" in page
    assert "&lt;script&gt;" in page
    assert page.count("<h2>") == 11


def test_the_content_can_be_a_part_of_another_page(analysis):
    content = render("tune/content.html", heading=2, **report_values(analysis, STUDY))
    assert content.count("<h2>") == 1
    assert content.count("<h3>") == 11
    assert "<h1>" not in content
    assert "<html" not in content


def test_what_failed_trials_say_is_of_bounded_length_and_without_control_characters():
    study = optuna.create_study()
    said = {"reason": "no " * 10_000, "stderr": "\x1b[2J\x00\t" * 10_000}
    for kind in (None, {"kind": "failed", **said}):
        trial = study.ask(distributions(SPACE))
        if kind is None:
            study.tell(trial, 1.0)
        else:
            trial.set_user_attr("outcome", kind)
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
    values = report_values(analyze(study.trials, SPACE, minimize=True, level=0.9, seed=0), STUDY)
    _, reason, _, output = values["last_failed"][0]
    assert len(reason) <= 200
    assert 0 < len(output) < 4000
    assert output.isprintable()


def test_a_study_of_one_parameter_without_failures_and_times_has_a_report(real_pictures):
    space = Space(x=Float(0, 1))
    study = optuna.create_study()
    for _ in range(6):
        trial = study.ask(distributions(space))
        study.tell(trial, trial.params["x"])
    found = analyze(study.trials, space, minimize=True, level=0.9, seed=0)
    page = report_page(report_values(found, STUDY))
    assert "Pairs of parameters" not in page
    assert "Time a trial" not in page
    assert page.count("data:image/svg+xml;base64,") == 4


def test_every_picture_is_well_formed_and_holds_no_script(analysis, real_pictures):
    drawn = pictures(analysis)
    assert drawn.keys() == set(PICTURES) - {"seconds"}
    for svg in drawn.values():
        root = ET.fromstring(svg)
        assert root.tag.endswith("svg")
        assert not [element for element in root.iter() if element.tag.endswith("script")]
