"""The packages for OptunaHub have the registry's format, load as its users load them, and work."""

import ast
import re
import runpy
from pathlib import Path

import pytest

optuna = pytest.importorskip("optuna", minversion="5.0", reason="the packages are for Optuna 5")

REGISTRY = Path(__file__).resolve().parents[2] / "optunahub" / "package"
# The tag that the registry asks of a category, and what a package's example must print.
PACKAGES = {"samplers/tailproof": "sampler", "callbacks/tailproof": "callback"}


def load(name=None, package=None, **_):
    optunahub = pytest.importorskip("optunahub", reason="packages are loaded through optunahub")
    return optunahub.load_local_module(package=name or package, registry_root=str(REGISTRY))


def readme(name):
    _, front, text = (REGISTRY / name / "README.md").read_text().split("---\n", 2)
    return dict(line.split(": ", 1) for line in front.splitlines()), text


@pytest.mark.parametrize("name", PACKAGES)
def test_the_folder_holds_what_the_registry_asks_for(name):
    names = {path.name for path in (REGISTRY / name).iterdir() if path.is_file()}
    assert {"__init__.py", "README.md", "LICENSE"} <= names
    assert (REGISTRY / name / "LICENSE").read_text().startswith("MIT License")


@pytest.mark.parametrize(("name", "tag"), PACKAGES.items())
def test_the_front_matter_is_complete(name, tag):
    front, text = readme(name)
    assert list(front) == ["author", "title", "description", "tags", "optuna_versions", "license"]
    assert front["license"] == "MIT License"
    assert tag in front["tags"].strip("[]").split(", ")
    for version in front["optuna_versions"].strip("[]").split(", "):
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert headings[:4] == ["Abstract", "APIs", "Installation", "Example"]
    assert "<" not in re.sub(r"```.*?```", "", text, flags=re.DOTALL)  # HTML is removed there


@pytest.mark.parametrize("name", PACKAGES)
def test_the_readme_names_what_is_exported(name):
    _, text = readme(name)
    listed = text.split("## APIs\n")[1].split("\n## ")[0]
    package = load(name)
    found = re.findall(r"^- `(\w+)\(", listed, flags=re.MULTILINE)
    assert sorted(found) == sorted(package.__all__)
    assert all(hasattr(package, exported) for exported in found)


@pytest.mark.parametrize("name", PACKAGES)
def test_the_readmes_example_runs_with_the_loaded_packages(name, monkeypatch, capsys):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    optunahub = pytest.importorskip("optunahub", reason="packages are loaded through optunahub")
    monkeypatch.setattr(optunahub, "load_module", load)
    _, text = readme(name)
    code = re.search(r"```python\n(.*?)```", text, flags=re.DOTALL).group(1)
    exec(compile(ast.parse(code), "README", "exec"), {})
    assert "mean" in capsys.readouterr().out


def test_the_samplers_example_runs(capsys):
    pytest.importorskip("optunahub", reason="packages are loaded through optunahub")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    runpy.run_path(str(REGISTRY / "samplers/tailproof/example.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "recommended: x=" in out
    assert float(re.search(r"its true mean: ([\d.]+)", out).group(1)) > 0.9


def test_the_packages_callback_stops_a_study_that_was_confirmed():
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler, callbacks = (load(name) for name in PACKAGES)
    study = optuna.create_study(sampler=sampler.TailproofSampler(seed=0))
    callbacks.enqueue_baseline(study, {"x": 0.9})
    callback = callbacks.StoppingCallback(until=0.5)
    study.optimize(
        lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, 200, callbacks=[callback]
    )
    assert 20 < len(study.trials) < 60
    best = sampler.recommend(study)
    assert best.payoffs >= 2
    assert best.baseline.probability > 0.9


def test_the_callbacks_example_stops_before_the_end(capsys):
    pytest.importorskip("optunahub", reason="packages are loaded through optunahub")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    runpy.run_path(str(REGISTRY / "callbacks/tailproof/example.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert int(re.search(r"stopped after (\d+) of 100", out).group(1)) < 100
    assert "better than the baseline" in out
