"""Made-up records of the reproduction's runs, whose statistics are known."""

import numpy as np

from figure_panels import data_arms
from tailproof.experiments.panels import stocks_panel, synthetic_panels
from tailproof.experiments.plan import Size, make_plan

LAST = {"tgp": 0.36, "qff": 0.32, "nystrom": 0.30, "qff-folded": 0.25, "nystrom-theory": 0.5}


def plan_of(letter, policies, size=None):
    """A plan with one panel."""
    panels = synthetic_panels() | {"d": stocks_panel(data_arms())}
    return make_plan({letter: panels[letter]}, {letter: size or Size()}, seed=0, policies=policies)


def falling(plan, *, last=None, cross=10_000, common=0.0, own=0.0):
    """Records whose curves reach `last` and cross that of tgp at `cross`.

    Repetitions differ by up to `common`, the same for all policies and zero on average over 20,
    and by normal noise of size `own` for each policy.
    """
    last = LAST if last is None else last
    rng = np.random.default_rng(0)
    records = {}
    for task in plan.tasks():
        share = task.panel.recorded_rounds / task.panel.rounds
        gap = last[task.policy] - last["tgp"]
        at = cross / task.panel.rounds
        curve = last["tgp"] + 0.2 * (1.0 - share) + gap * (share - at) / (1.0 - at)
        if task.policy.endswith("theory"):
            curve = np.full(len(share), last[task.policy])
        shift = common * np.linspace(-1.0, 1.0, 20)[task.repetition] + own * rng.standard_normal()
        records[task.name] = {
            "regret_per_round": (curve + shift).tolist(),
            "beta": 30.0 if task.policy == "qff-folded" else 60.0,
            "cpu_seconds": 2.0,
            "session": {"started": 5.0, "at": 1.0 + task.repetition},
        }
    return records


def truncated(plan, *, error=0.01, plain=0.6, std=0.05):
    """Records of panel f whose means are off by these errors above x = 0.8."""
    f = np.linspace(0.0, 1.0, 100)
    off = {"gp": plain, "gp-truncated": error, "gp-redrawn": 0.02}
    return {
        task.name: {
            "regret_per_round": [0.1] * len(task.panel.recorded_rounds),
            "beta": 9.0,
            "f": f.tolist(),
            "mean": (f + off[task.policy] * (f > 0.8)).tolist(),
            "std": np.full(100, std).tolist(),
        }
        for task in plan.tasks()
    }
