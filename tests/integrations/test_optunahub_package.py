"""The package for OptunaHub has the registry's format, loads as its users load it, and works."""

import ast
import re
import runpy
from pathlib import Path

import pytest

optuna = pytest.importorskip("optuna", minversion="5.0", reason="the sampler is for Optuna 5")

REGISTRY = Path(__file__).resolve().parents[2] / "optunahub" / "package"
FOLDER = REGISTRY / "samplers" / "tailproof"


@pytest.fixture(scope="module")
def package():
    optunahub = pytest.importorskip("optunahub", reason="the package is loaded through optunahub")
    return optunahub.load_local_module(package="samplers/tailproof", registry_root=str(REGISTRY))


def readme():
    _, front, text = (FOLDER / "README.md").read_text().split("---\n", 2)
    return dict(line.split(": ", 1) for line in front.splitlines()), text


def test_the_folder_holds_what_the_registry_asks_for():
    names = {path.name for path in FOLDER.iterdir() if path.is_file()}
    assert {"__init__.py", "README.md", "LICENSE"} <= names
    assert (FOLDER / "LICENSE").read_text().startswith("MIT License")


def test_the_front_matter_is_complete():
    front, text = readme()
    assert list(front) == ["author", "title", "description", "tags", "optuna_versions", "license"]
    assert front["license"] == "MIT License"
    assert "sampler" in front["tags"].strip("[]").split(", ")  # asked of all in samplers/
    for version in front["optuna_versions"].strip("[]").split(", "):
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert headings[:2] == ["Abstract", "Class or Function Names"]
    assert "Example" in headings


def test_the_readme_names_what_is_exported(package):
    _, text = readme()
    listed = text.split("## Class or Function Names\n")[1].split("##")[0]
    assert re.findall(r"^- (\w+)", listed, flags=re.MULTILINE) == package.__all__
    assert all(hasattr(package, name) for name in package.__all__)


def test_the_readmes_example_runs_with_the_loaded_package(package, monkeypatch, capsys):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    import optunahub

    monkeypatch.setattr(optunahub, "load_module", lambda package_name=None, **_: package)
    _, text = readme()
    code = re.search(r"```python\n(.*?)```", text, flags=re.DOTALL).group(1)
    exec(compile(ast.parse(code), "README", "exec"), {})
    assert "mean" in capsys.readouterr().out


def test_the_example_runs(package, capsys):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    runpy.run_path(str(FOLDER / "example.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "recommended: x=" in out
    assert float(re.search(r"its true mean: ([\d.]+)", out).group(1)) > 0.9


def test_the_packages_callback_stops_a_study_that_was_confirmed(package):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=package.TailproofSampler(seed=0))
    package.enqueue_baseline(study, {"x": 0.9})
    callback = package.StoppingCallback(until=0.5)
    study.optimize(
        lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, 200, callbacks=[callback]
    )
    assert 20 < len(study.trials) < 60
    best = package.recommend(study)
    assert best.payoffs >= 2
    assert best.baseline.probability > 0.9
