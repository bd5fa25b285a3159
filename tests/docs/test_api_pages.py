"""The pages of the API name what exists, and every public name."""

import importlib
import re

import pytest

import tailproof
from pages import DOCS

NAMED = sorted(
    {
        name
        for page in (DOCS / "api").glob("*.md")
        for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
)


def load(name):
    """Return a module, or what a module calls so."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        return getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("name", NAMED)
def test_what_a_page_names_exists_and_has_a_docstring(name):
    if name.startswith("tailproof.integrations.optuna"):
        pytest.importorskip("optuna", reason="the name belongs to the Optuna sampler")
    if name.startswith("tailproof.plot"):
        pytest.importorskip("matplotlib", reason="the name belongs to the plots")
    assert load(name).__doc__


def test_every_public_name_is_on_a_page():
    assert {f"tailproof.{name}" for name in tailproof.__all__} - {"tailproof.plot"} <= set(NAMED)
