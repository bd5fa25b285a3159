"""Studies of `tailproof tune`, and processes to wait for, for the tests of it."""

import math
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from tailproof.search.space.parameters import Choice, Fixed, Float, Int
from tailproof.search.space.space import Space
from tailproof.tune.study import distributions, opened_storage
from tailproof.tune.trial_queue import LOST
from tailproof.tune.urls import file_url

optuna = pytest.importorskip("optuna", reason="`tailproof tune` keeps its trials in Optuna")

OUT = "tailproof-tune"  # the default of --out
ACT, SCRIPT = "$act_{x}$ <i>", "<script>alert(1)</script>"
SPACE = Space(
    {
        "lr": Float(1e-4, 1e-1, log=True),
        "layers": Int(1, 6),
        ACT: Choice("relu", SCRIPT, "日本\n", True, 3),
        "k": Fixed("<b>"),
    }
)


def heavy_tailed_study():
    """Return a study with heavy-tailed payoffs, failures, and trials that do not count."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    rng = np.random.default_rng(0)
    for i in range(40):
        if i == 9:  # so that it stands among the failed
            study.enqueue_trial({ACT: SCRIPT})
        trial = study.ask(distributions(SPACE))
        mean = (math.log10(trial.params["lr"]) + 2.5) ** 2 + trial.params["layers"]
        if i % 10 == 9:
            kind = LOST if i == 19 else "failed"
            trial.set_user_attr("outcome", {"kind": kind, "reason": "a<b", "stderr": "x</pre>y"})
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, mean + 0.1 * rng.standard_t(1.5))
    return study


def stored_trials(place):
    """Return the trials of the only study at a URL, or in a folder of results."""
    url = place if isinstance(place, str) else file_url(place / "study.db")
    with opened_storage(url, checked=True) as storage:
        return optuna.load_study(storage=storage, study_name=None).trials


def dead_signature():
    """Return the signature of a process of this machine that has ended."""
    code = "from tailproof.tune.heartbeat import signature; print(signature())"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def has_ended(pid):
    """Tell whether a process has ended, if only to wait to be reaped."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_for(condition, seconds=300.0, pause=0.02):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it took too long"
        time.sleep(pause)
