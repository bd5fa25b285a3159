"""Panels and tasks of the reproduction for the tests, and a small data set."""

import numpy as np

from tailproof.environments import DataArms
from tailproof.experiments.panels import synthetic_panels
from tailproof.experiments.plan import Size, make_plan

PANELS = synthetic_panels()


def tasks(letter, *, repetitions=2, seed=0, rounds=50):
    """The tasks of one panel without data."""
    panels = {letter: PANELS[letter]}
    return list(make_plan(panels, {letter: Size(rounds, repetitions)}, seed=seed).tasks())


def task(letter, policy, repetition=0, **options):
    """One of these tasks."""
    return next(t for t in tasks(letter, **options) if t.name == (letter, policy, repetition))


def problem_of(task):
    """The problem of a task."""
    return task.panel.source.problem(task.generator)


def data_arms(coordinates=None):
    """Three arms with four payoffs each."""
    values = np.array([[1.0, 2.0, 9.0, 4.0], [5.0, 5.5, 7.0, 6.5], [2.0, 1.0, 1.5, 3.5]])
    counts = np.full(3, 4)
    gram = np.corrcoef(values)
    return DataArms("made up", ("p", "q", "r"), values.ravel(), counts, gram, coordinates)
