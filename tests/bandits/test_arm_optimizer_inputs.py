"""Bad input is refused with an error that names it, and changes nothing; doubtful input is said."""

import math
import re
from datetime import datetime

import numpy as np
import pytest

import tailproof as tp
from policy_setups import (
    ARMS,
    DIRECTIONS,
    KERNEL,
    LABELS,
    SPACE,
    assert_same,
    build,
    every_setup,
    rounds,
)

NAN, INF, HUGE = math.nan, math.inf, 10**400
LABELED = tp.Finite(LABELS)
SQUARE = tp.Finite([[0.0, 0.0], [1.0, 1.0]])
CUSTOM = tp.CustomSchedule(1.0)
RAGGED = [[0.0], [0.0, 1.0]]


def told():
    opt = build("tgp_ucb theory")
    opt.tell_index([0, 4], [1.0, 2.0])
    return opt


def labeled():
    opt = tp.gp_ucb(LABELED, tp.Precomputed(np.eye(4)), CUSTOM)
    opt.tell("ant", 1.0)
    return opt


def ata(**changes):
    return build("ata_gp_ucb theory exact", **changes)


def qff(nodes, space=SPACE, kernel=KERNEL):
    return ata(space=space, kernel=kernel, features=tp.QuadratureFourier(nodes))


def refused(name, *cases):
    """One row a case: the argument the error must name, the call, what came as it must show."""
    return [(name, call, shown) for call, shown in cases]


NUMBERS = [(NAN, "nan"), (INF, "inf"), ("1", "'1'"), (None, "None"), (1j, "1j"), ({}, "{}")]
ODD_NUMBERS = [(np.complex128(1j), "1j"), (HUGE, "1000"), (True, "True")]
NOT_POSITIVE = [(0.0, "0.0"), (-1, "-1"), (-INF, "-inf"), *NUMBERS]
NOT_IN_UNIT = [(0, "0"), (-0.5, "-0.5"), (1.5, "1.5"), *NUMBERS]
NOT_COUNTS = [(0, "0"), (-3, "-3"), (1.5, "1.5"), (2.0, "2.0"), ("3", "'3'"), (None, "None")]
NOT_COUNTS += [(True, "True"), (NAN, "nan")]
CLASSES = (tp.Exact, tp.Nystrom, tp.QuadratureFourier)
STATIONARY = [(tp.Matern(0.5, 1), "Matern"), (tp.Linear(), "Linear"), (0.5 * KERNEL, "Scaled")]


def each(values, call):
    return [((lambda value=value: call(value)), shown) for value, shown in values]


def beta_of(rule):
    return tp.gp_ucb(SPACE, KERNEL, tp.CustomSchedule(rule)).beta


BAD_POINTS = [([[NAN]], "nan"), ([0.0, 1.0], "2"), ("a", "a"), (RAGGED, "0.0"), ([[1j]], "j")]
BAD_POINTS += [([[HUGE]], "1000"), (np.zeros((1, 1, 1)), "(1, 1, 1)")]
BAD_LABELS = [("eel", "'eel'"), (["ant", "eel"], "'eel'"), (0, "0")]

CASES = [
    # numbers
    *refused("alpha", *each(NOT_IN_UNIT, lambda a: tp.MomentBound(a, 1.0))),
    *refused("v", *each(NOT_POSITIVE + ODD_NUMBERS, lambda v: tp.MomentBound(1.0, v))),
    *refused("ridge", *each(NOT_POSITIVE, lambda r: tp.gp_ucb(SPACE, KERNEL, CUSTOM, ridge=r))),
    *refused("ridge", *each(NOT_POSITIVE, lambda r: ata(ridge=r))),
    *refused("beta_multiplier", *each(NOT_POSITIVE, lambda m: ata(beta_multiplier=m))),
    *refused("norm_bound", *each(NOT_POSITIVE, lambda b: ata(norm_bound=b))),
    *refused("failure_probability", *each(NOT_IN_UNIT, lambda p: ata(failure_probability=p))),
    *refused("horizon", *each(NOT_COUNTS, lambda h: ata(horizon=h))),
    *refused(
        "blocks", *each(NOT_COUNTS[:5], lambda k: build("moma_gp_ucb heuristic exact", blocks=k))
    ),
    *refused("noise_bound", *each(NOT_POSITIVE, lambda r: tp.SubGaussian(r, 1.0, 1.0, 0.1))),
    *refused("beta", *each([(-1, "-1"), *NUMBERS], tp.CustomSchedule)),
    *refused(
        "truncation",
        *each([(-1, "-1"), (NAN, "nan"), *NUMBERS[2:]], lambda b: tp.CustomSchedule(1.0, b)),
    ),
    # options that a custom schedule does not use are checked, too
    *refused("horizon", *each(NOT_COUNTS[:3], lambda h: ata(schedule=CUSTOM, horizon=h))),
    *refused("norm_bound", *each([(-1, "-1")], lambda b: ata(schedule=CUSTOM, norm_bound=b))),
    *refused("moment", *each([("junk", "'junk'")], lambda m: ata(schedule=CUSTOM, moment=m))),
    *refused("failure_probability", (lambda: ata(schedule=CUSTOM, failure_probability=7), "7")),
    # kernels
    *refused("lengthscale", *each(NOT_POSITIVE, tp.SquaredExponential)),
    *refused("lengthscale", *each([([], "empty"), ([0.1, -1], "-1")], tp.SquaredExponential)),
    *refused("lengthscale", (lambda: tp.Matern(1.5, RAGGED), "0.0")),
    *refused("lengthscale", (lambda: tp.gp_ucb(SPACE, tp.Matern(1.5, (1, 2)), CUSTOM), "2")),
    *refused("nu", *each(NOT_POSITIVE, lambda nu: tp.Matern(nu, 1.0))),
    *refused("variance", *each(NOT_POSITIVE, tp.Linear)),
    *refused("factor", *each(NOT_POSITIVE, lambda f: f * KERNEL)),
    *refused("right", (lambda: KERNEL + 1.0, "1.0"), (lambda: tp.Product(KERNEL, None), "None")),
    *refused("gram", *each([([[1, 2], [3, 1]], "1"), ([[1, 2], [2, 1]], "-1")], tp.Precomputed)),
    *refused("gram", *each([([[1, NAN], [NAN, 1]], "nan"), ([1.0], "(1,)")], tp.Precomputed)),
    *refused("gram", *each([([[1.0, 0.0]], "(1, 2)"), ([[]], "(1, 0)")], tp.Precomputed)),
    *refused("gram", *each([("ab", "ab"), ([[1j]], "j"), (RAGGED, "0.0")], tp.Precomputed)),
    *refused("points", (lambda: tp.gp_ucb(SPACE, tp.Precomputed(np.eye(9)), CUSTOM), "[0.125]")),
    *refused(
        "points", (lambda: tp.gp_ucb(SQUARE, tp.Precomputed(np.eye(2)), CUSTOM), "[0.0, 0.0]")
    ),
    *refused("points", (lambda: tp.gp_ucb(LABELED, tp.Precomputed(np.eye(3)), CUSTOM), "[3.0]")),
    *refused("kernel", (lambda: tp.gp_ucb(SPACE, None, CUSTOM), "None")),
    *refused("kernel", (lambda: tp.gp_ucb(SPACE, tp.Linear, CUSTOM), "Linear")),
    *refused("kernel", (lambda: tp.gp_ucb(tp.Finite([[1e200]]), tp.Linear(), CUSTOM), "")),
    # spaces
    *refused("space", (lambda: tp.gp_ucb(ARMS, KERNEL, CUSTOM), "array")),
    *refused("arms", *each([([], "(0,)"), ([[]], "(1, 0)"), (ARMS[:0], "(0, 1)")], tp.Finite)),
    *refused("arms", *each([([[NAN]], "nan"), ([[INF]], "inf"), ([[HUGE]], "1000")], tp.Finite)),
    *refused("arms", *each([([0.5, 1.0], "(2,)"), (3, "()"), ("ab", "()")], tp.Finite)),
    *refused("arms", *each([(None, "()"), ({"a", "b"}, "()"), ([["1"]], "1")], tp.Finite)),
    *refused("arms", *each([(RAGGED, "0.0"), ([[1j]], "j"), ([["x"]], "x")], tp.Finite)),
    *refused("arms", *each([(["a", "b", "a"], "'a'"), ([1, 1], "1"), (["a", 1], "1")], tp.Finite)),
    *refused("arms", (lambda: tp.Finite([[datetime(2020, 1, 1)]]), "2020")),
    *refused("arms", (lambda: tp.Finite(np.array([["2020-01-01"]], "M8[D]")), "2020")),
    *refused("index", *each([(-1, "-1"), (9, "9"), (1.5, "1.5"), ("a", "'a'")], SPACE.point)),
    *refused("x", *each([(ARMS[:2], "2"), (ARMS[:0], "0")], SPACE.index)),
    # features
    *refused("features", *each([(None, "None"), ("qff", "'qff'")], lambda f: ata(features=f))),
    *refused("features", *each([(c, c.__name__) for c in CLASSES], lambda f: ata(features=f))),
    *refused("nodes", *each(NOT_COUNTS, tp.QuadratureFourier)),
    *refused("nodes", (lambda: qff(9999, SQUARE, tp.SquaredExponential([1, 1])), "9999")),
    *refused("nodes", (lambda: qff(9, tp.Finite(np.eye(500)), tp.SquaredExponential(1.0)), "500")),
    *refused("kernel", *each(STATIONARY[1:2], lambda k: qff(32, kernel=k))),
    *refused("kernel", *each(STATIONARY[:1], lambda k: qff(8, space=SQUARE, kernel=k))),
    *refused("kernel", *each(STATIONARY[1:], lambda k: build(DIRECTIONS[5], kernel=k))),
    *refused("folded", (lambda: tp.QuadratureFourier(32, 1), "1")),
    *refused("frequencies", *each(NOT_COUNTS, tp.RandomFourier)),
    *refused("tolerance", *each([(1.0, "1.0"), *NOT_IN_UNIT], tp.Exact)),
    *refused("accuracy", *each([(1.0, "1.0"), *NOT_IN_UNIT], tp.Nystrom)),
    *refused("cutoff", (lambda: tp.Nystrom(cutoff=0), "0")),
    *refused("oversampling", *each(NOT_POSITIVE[:4], lambda q: tp.Nystrom(oversampling=q))),
    *refused("oversampling", (lambda: ata(features=tp.Nystrom(), schedule=CUSTOM), "None")),
    *refused("draws", *each([("x", "'x'"), (3, "3")], lambda d: tp.Nystrom(draws=d))),
    *refused("reduced", (lambda: tp.Nystrom(reduced="no"), "'no'")),
    # policies
    *refused("variance", *each([("iii", "'iii'"), (1, "1")], lambda v: ata(variance=v))),
    *refused("schedule", *each([("thoery", "'thoery'"), (3, "3")], lambda s: ata(schedule=s))),
    *refused("schedule", (lambda: ata(schedule=tp.CustomSchedule), "CustomSchedule")),
    *refused("schedule", (lambda: tp.gp_ucb(SPACE, KERNEL, "theory"), "'theory'")),
    *refused("schedule", (lambda: tp.gp_ucb(SPACE, KERNEL, tp.CustomSchedule), "CustomSchedule")),
    *refused("schedule", (lambda: build("moma_gp_ucb theory exact"), "'theory'")),
    *refused("moment", *each([((1, 4), "(1, 4)"), (None, "None")], lambda m: ata(moment=m))),
    *refused("norm_bound", (lambda: build("tgp_ucb authors", norm_bound=None), "None")),
    *refused("seed", *each([(-1, "-1"), (1.5, "1.5"), ("a", "'a'")], lambda s: ata(seed=s))),
    *refused("among", *each([("some", "'some'"), (None, "None")], lambda a: told().recommend(a))),
    *refused("beta", *each([(-1, "-1"), *NUMBERS[:4]], lambda b: beta_of(lambda t: b))),
    # predicting
    *refused("points", *each(BAD_POINTS, lambda p: told().predict(p))),
    *refused("points", *each(BAD_LABELS, lambda p: labeled().predict(p))),
]


@pytest.mark.parametrize(
    ("name", "call", "shown"), CASES, ids=[f"{case[0]} {case[2]}" for case in CASES]
)
def test_bad_input_is_refused_by_name(name, call, shown):
    with pytest.raises(ValueError, match=r"`.* must .*but ") as caught:
        call()
    message = str(caught.value)
    named = re.findall(r"`([^`]*)`", message)
    assert any(re.search(rf"\b{name}\b", one) for one in named), message
    assert shown in message


def test_recommend_needs_a_payoff():
    with pytest.raises(ValueError, match="`recommend` needs at least one payoff, but none"):
        build("gp_ucb theory").recommend()


# ---- telling: all or nothing --------------------------------------------------------------------

BAD_TELLS = {
    "nan": ("y", ARMS[3], NAN),
    "infinite": ("y", ARMS[3], -INF),
    "too large": ("y", ARMS[3], 2e280),
    "huge integer": ("y", ARMS[3], HUGE),
    "text": ("y", ARMS[3], "7.5"),
    "none": ("y", ARMS[3], None),
    "complex": ("y", ARMS[3], 1j),
    "date": ("y", ARMS[3], np.datetime64("2020-01-01")),
    "masked": ("y", ARMS[3], np.ma.array([1.0, 2.0], mask=[False, True])),
    "table": ("y", ARMS[3], [[1.0]]),
    "ragged payoffs": ("y", ARMS[3], [[1.0], [1.0, 2.0]]),
    "last payoff bad": ("y", ARMS[:3], [1.0, 2.0, NAN]),
    "too few payoffs": ("y", ARMS[:3], [1.0, 2.0]),
    "too many payoffs": ("y", ARMS[:2], [1.0, 2.0, 3.0]),
    "unknown arm": ("x", [0.3], 1.0),
    "last arm unknown": ("x", [[0.0], [0.5], [0.3]], [1.0, 2.0, 3.0]),
    "nan arm": ("x", [NAN], 1.0),
    "complex arm": ("x", [0.5 + 0j], 1.0),
    "flat arms": ("x", [0.0, 0.5], [1.0, 2.0]),
    "ragged arms": ("x", RAGGED, [1.0, 2.0]),
    "deep arms": ("x", [[[0.5]]], 1.0),
    "text arm": ("x", "0.5", 1.0),
    "no arm": ("x", None, 1.0),
    "negative index": ("index", -1, 1.0),
    "index too large": ("index", 9, 1.0),
    "huge index": ("index", 10**30, 1),
    "last index bad": ("index", [0, 1, 9], [1.0, 2.0, 3.0]),
    "float index": ("index", 1.0, 1.0),
    "boolean index": ("index", True, 1.0),
    "text index": ("index", "1", 1.0),
    "table of indices": ("index", [[0]], 1.0),
    "ragged indices": ("index", [[0], [0, 1]], 1.0),
    "last payoff by index bad": ("y by index", [0, 1], [1.0, INF]),
    "nan by index": ("y by index", 0, NAN),
    "too few by index": ("y by index", [0, 1], [1.0]),
}


@pytest.mark.parametrize("case", BAD_TELLS)
def test_a_bad_tell_is_refused_by_name(case):
    name, x, y = BAD_TELLS[case]
    opt = build("tgp_ucb theory")
    with pytest.raises(ValueError, match=rf"`[^`]*\b{name.split()[0]}\b.* must .*but "):
        (opt.tell_index if "index" in name else opt.tell)(x, y)


def accepted(tell, x, y):
    """Whether a tell went through; which error there was is another test's matter."""
    try:
        tell(x, y)
    except Exception:
        return False
    return True


@every_setup
def test_a_failed_tell_leaves_everything_as_it_was(setup):
    opt, same = build(setup), build(setup)
    for one in (opt, same):
        one.tell_index(*rounds(20))
        one.ask_index()
    for name, x, y in BAD_TELLS.values():
        method = "tell_index" if "index" in name else "tell"
        if accepted(getattr(opt, method), x, y):
            getattr(same, method)(x, y)
    assert_same(opt, same)


@pytest.mark.parametrize("setup", ["tgp_ucb theory", "ata_gp_ucb theory exact"])
@pytest.mark.parametrize("batch", [1, 4])
def test_a_threshold_that_fails_leaves_everything_as_it_was(setup, batch):
    """A custom schedule is code that may fail in the middle of a tell: here, for payoff 7."""
    broken = {7: -1.0}
    schedule = tp.CustomSchedule(1.0, truncation=lambda t: broken.get(t, 5.0))
    opt, same = (build(setup, schedule=schedule) for _ in range(2))
    arms, payoffs = rounds(7)
    for one in (opt, same):
        one.tell_index(arms[: 7 - batch], payoffs[: 7 - batch])
    last = arms[7 - batch :], payoffs[7 - batch :]
    went_through = accepted(opt.tell_index, *last)
    broken.clear()
    if went_through:
        same.tell_index(*last)
    assert_same(opt, same)


@pytest.mark.parametrize("label", ["eel", 0, None, 1.5, b"ant", ["ant"]])
def test_an_unknown_label_is_refused(label):
    opt, same = labeled(), labeled()
    with pytest.raises(ValueError, match=r"`x` must be one of the labels 'ant', .* but got"):
        opt.tell(["ant", label], [1.0, 2.0])
    assert_same(opt, same)


# ---- legal, but outside the theorems ------------------------------------------------------------
