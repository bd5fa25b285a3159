"""The plan: seeds of every task, and a manifest that names all the results depend on."""

import pathlib
import shutil

import numpy as np
import pytest

import tailproof
from figure_panels import PANELS, data_arms, task
from tailproof.experiments.panels import light_panel
from tailproof.experiments.plan import Size, make_plan, source_digest


def test_policies_panels_repetitions_and_seeds_have_random_numbers_of_their_own():
    def draw(task, purpose):
        return task.generator(purpose).integers(2**62)

    tgp = task("a", "tgp")
    drawn = [draw(tgp, purpose) for purpose in ("function", "noise", "policy")]
    drawn += [draw(task("a", "qff"), "policy")]
    others = (task("b", "tgp"), task("a", "tgp", 1), task("a", "tgp", seed=1))
    drawn += [draw(other, "noise") for other in others]
    assert len(set(drawn)) == len(drawn)


def test_the_manifest_names_every_constant():
    panels = PANELS | {"e": light_panel(data_arms(np.zeros((3, 2))))}
    manifest = make_plan(panels, {}, seed=11).manifest()
    assert manifest["seed"] == 11
    assert set(manifest["versions"]) == {"tailproof", "python", "numpy", "scipy", "numba"}
    b = manifest["panels"]["b"]
    assert (b["rounds"], b["repetitions"], b["variant_repetitions"]) == (20_000, 20, 5)
    problem = b["problem"]
    assert (problem["alpha"], problem["B"], problem["terms"]) == (0.9, 1.0, 100)
    assert problem["law"] == "ParetoPayoff(shape=2.0)"
    assert b["policies"]["qff"]["features"] == "QuadratureFourier(nodes=32, folded=False)"
    assert b["policies"]["nystrom"]["ridge"] == 1.0
    assert "accuracy=0.1" in b["policies"]["nystrom"]["features"]
    assert b["policies"]["tgp-theory"]["failure_probability"] == 0.1
    e = manifest["panels"]["e"]
    assert "nodes=16, folded=False" in e["policies"]["qff"]["features"]
    assert e["problem"]["v"] == pytest.approx(np.mean(data_arms().values ** 2))
    assert len(e["problem"]["data_sha256"]) == 64


COMPUTING = ("kernels", "_compiled/eigen", "_util/linalg", "bandits/policies")
COMPUTING += ("bandits/posterior/ridge", "environments/noise", "experiments/repetition")
SHOWING = ("experiments/report", "experiments/figure", "experiments/cli", "search/optimizer")


def test_other_code_is_another_manifest_and_another_report_is_not(tmp_path):
    package = pathlib.Path(tailproof.__file__).parent
    digest = source_digest(package)
    assert make_plan(PANELS, {}, seed=0).manifest()["source_sha256"] == digest
    copy = tmp_path / "tailproof"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    seen = []
    for name in (*SHOWING, *COMPUTING):
        path = copy / f"{name}.py"
        path.write_text(path.read_text() + "# another\n")
        seen.append(source_digest(copy))
    assert seen[: len(SHOWING)] == [digest] * len(SHOWING)
    assert len(set(seen)) == 1 + len(COMPUTING)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "`seed >= 0` must hold"),
        ({"seed": 0, "policies": ("ucb",)}, "`policies` must be one of"),
        ({"seed": 0, "policies": ("gp",)}, "`policies` must name a policy of the panels"),
    ],
)
def test_an_impossible_plan_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_plan({"a": PANELS["a"]}, {}, **options)


@pytest.mark.parametrize("size", [{"rounds": 0}, {"repetitions": 0}, {"repetitions": 1.5}])
def test_sizes_are_positive_integers(size):
    with pytest.raises(ValueError, match="must"):
        Size(**size)


def test_variants_have_no_more_repetitions_than_the_papers_policies():
    sized = Size(repetitions=2).applied_to(PANELS["a"])
    assert (sized.repetitions_of("tgp"), sized.repetitions_of("exact")) == (2, 2)
    assert PANELS["a"].repetitions_of("exact") == 5
