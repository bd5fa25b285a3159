"""Pages of the site: their blocks run in order and print what they show; links lead to files."""

import contextlib
import gc
import re
import shlex
from pathlib import Path

import pytest

from pages import DOCS, check_links, matches, read_blocks, read_page, run_page, same_form
from tailproof import cli

RUN = {
    "getting-started.md": ("optuna", "matplotlib"),
    "tune-in-python.md": (),
    "optuna.md": ("optuna",),
    "diagnose.md": ("matplotlib",),
    "guarantees.md": ("matplotlib",),
    "integrations/pandas.md": ("pandas",),
    "integrations/scikit-learn.md": ("optuna", "sklearn"),
}
# A part of the page that needs a package which only `make integrations` installs.
WITHOUT = {"integrations/scikit-learn.md": "optuna_integration"}
HEAVY = {
    "integrations/ray.md": ("ray",),
    "integrations/scikit-learn.md": ("sklearn", "optuna_integration"),
    "integrations/mlflow.md": ("mlflow", "matplotlib"),
    "integrations/hydra.md": ("hydra",),
}
# Runs of a program for tables whose digits nothing compares.
FEWER = {
    "getting-started.md": [
        ("--evaluations 60 ", "--evaluations 24 "),
        ("in range(50)", "in range(12)"),
    ]
}
# Their blocks are run, or their commands parsed, by the tests named so or by those below.
ELSEWHERE = {"bandit.md", "compare.md", "deciding.md", "how-to-choose.md", "optimizer.md"}
WITH_SERVERS = {"scaling.md"}
COMMANDS = {"tune.md"}
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


@pytest.mark.parametrize(("name", "packages"), RUN.items(), ids=RUN)
def test_the_page_runs_and_shows_what_comes_out(name, packages, tmp_path):
    for package in packages:
        pytest.importorskip(package, reason=f"blocks of {name} need it")
    check_form(name, run_page(name, tmp_path, WITHOUT.get(name), FEWER.get(name, ()))[0])


def check_form(name, blocks):
    for block in blocks:
        if block.shown is not None:
            same = matches(block.shown, block.printed) or same_form(block.shown, block.printed)
            assert same, f"the block at line {block.line} of {name} printed:\n{block.printed}"


@pytest.mark.integration
@pytest.mark.filterwarnings("default")  # these packages warn of their own deprecations
@pytest.mark.parametrize(("name", "packages"), HEAVY.items(), ids=HEAVY)
def test_the_recipe_runs_with_the_real_package(name, packages, tmp_path):
    for package in packages:
        pytest.importorskip(package, reason="`make integrations` installs it")
    with ray_node() if "ray" in packages else contextlib.nullcontext():
        blocks, _ = run_page(name, tmp_path)
    check_form(name, blocks)
    assert re.search(r"interval|recommended", " ".join(block.printed for block in blocks))


@contextlib.contextmanager
def ray_node():
    """Have Ray's node run before the recipe: Ray gives up after 30 s, too few on a busy machine."""
    import ray

    for attempt in range(10):
        try:
            ray.init(num_cpus=2, include_dashboard=False)
            break
        except Exception:
            ray.shutdown()
            if attempt == 9:
                raise
    try:
        yield
    finally:
        ray.shutdown()


def test_every_page_with_code_is_run_by_a_test():
    with_code = {name for name in PAGES if re.search(r"^```(python|sh)\b", read_page(name), re.M)}
    assert with_code <= {*RUN, *HEAVY, *ELSEWHERE, *WITH_SERVERS, *COMMANDS}


@pytest.mark.parametrize("name", PAGES)
def test_links_on_the_page_lead_somewhere(name):
    check_links(name)


@pytest.mark.parametrize("name", ["CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/README.md"])
def test_links_of_the_projects_own_pages_lead_somewhere(name):
    check_links(Path("..") / name)


@pytest.mark.parametrize("name", [*COMMANDS, "getting-started.md"])
def test_commands_on_the_page_are_accepted_by_the_parser(name):
    found = 0
    for block in read_blocks(read_page(name)):
        if block.kind != "sh":
            continue
        for line in block.code.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["tailproof"]:
                cli.parser().parse_args(words[1:])
                found += 1
    assert found


@pytest.mark.filterwarnings("ignore:.*experimental")  # Optuna's heartbeat callback
@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")
def test_the_workers_of_the_scaling_page_run(tmp_path, monkeypatch):
    optuna = pytest.importorskip("optuna", reason="the page is on the Optuna sampler")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    monkeypatch.chdir(tmp_path)
    _, cluster, one_machine = [block.code for block in read_blocks(read_page("scaling.md"))]
    # The page's server is not here: SQLite takes its place, and twelve trials that of a thousand.
    changes = {"postgresql+psycopg://user@host/database": "sqlite:///cluster.db", "(1000,": "(12,"}
    for shown, run in changes.items():
        assert cluster.count(shown) == 1
        cluster = cluster.replace(shown, run)
    names = {"objective": lambda trial: trial.suggest_float("x", 0.0, 1.0) ** 2}
    for code in (cluster, one_machine):
        exec(compile(code, "scaling.md", "exec"), names)
        if code is cluster:
            assert len(names["study"].trials) == 12
    assert Path("study.db").exists()
    names.clear()
    gc.collect()  # a script leaves its connections to the end; from Python 3.13 on they warn
