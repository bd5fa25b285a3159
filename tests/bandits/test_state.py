"""The state of a policy: a loaded optimizer continues bit for bit, and code is never saved."""

import json
import os

import numpy as np
import pytest

import tailproof as tp
from policy_setups import (
    ANY_KERNEL,
    LABELS,
    assert_same,
    build,
    every_setup,
    rounds,
    use_played_span,
)
from state_files import contents, write
from tailproof.bandits.posterior.base import REFRESH

pytestmark = pytest.mark.filterwarnings("ignore::tailproof.TheoryWarning")

GRAM = np.array([[1, 0.5, 0, 0], [0.5, 1, 0, 0.1], [0, 0, 1, 0.2], [0, 0.1, 0.2, 1]])


def reload(opt, folder):
    opt.save(folder / "run.npz")
    return tp.load(folder / "run.npz")


def assert_continues(opt, folder, count=30):
    """A loaded copy and the original, asked and told the same, never differ in a single bit."""
    again = reload(opt, folder)
    assert repr(again) == repr(opt)
    assert again.guarantee == opt.guarantee
    arms, payoffs = rounds(count, arms=len(opt.space), seed=9)
    for arm, payoff in zip(arms, payoffs, strict=True):
        assert again.ask_index() == opt.ask_index()
        assert np.array_equal(again.pending, opt.pending)
        for one in (opt, again):
            one.tell_index(arm, payoff)
        assert np.array_equal(again.predict().mean, opt.predict().mean)
        assert np.array_equal(again.predict().std, opt.predict().std)
    assert_same(opt, again)


@pytest.mark.parametrize("told", [0, 1, 40, REFRESH - 10, REFRESH, REFRESH + 10])
@every_setup
def test_a_run_continues_bit_for_bit(setup, told, tmp_path):
    opt = build(setup)
    opt.tell_index(*rounds(told))
    assert_continues(opt, tmp_path)


@pytest.mark.parametrize("told", [0, 1, REFRESH + 10])
@pytest.mark.parametrize("setup", ANY_KERNEL)
def test_a_run_on_the_span_of_played_arms_continues_bit_for_bit(setup, told, tmp_path, monkeypatch):
    use_played_span(monkeypatch)
    opt = build(setup, kernel=tp.Matern(0.5, 0.3))
    opt.tell_index(*rounds(told))
    assert_continues(opt, tmp_path)


@every_setup
def test_a_run_of_asks_and_tells_continues_with_its_pending_asks(setup, tmp_path):
    opt = build(setup)
    for payoff in rounds(25)[1]:
        opt.tell_index(opt.ask_index(), payoff)
    asked = [opt.ask_index() for _ in range(4)]
    opt.predict()
    assert reload(opt, tmp_path).pending.tolist() == asked
    assert_continues(opt, tmp_path)


@every_setup
def test_saving_changes_nothing(setup, tmp_path):
    opt, same = build(setup), build(setup)
    for one in (opt, same):
        one.tell_index(*rounds(30))
        one.ask_index()
    opt.save(tmp_path / "a.npz")
    assert_same(opt, same)


@every_setup
def test_saving_twice_in_a_row_gives_the_same_content(setup, tmp_path):
    opt = build(setup)
    opt.tell_index(*rounds(30))
    opt.ask_index()
    opt.save(tmp_path / "one.npz")
    tp.load(tmp_path / "one.npz").save(tmp_path / "two.npz")
    with np.load(tmp_path / "one.npz") as one, np.load(tmp_path / "two.npz") as two:
        assert one.files == two.files
        for name in one.files:
            assert np.array_equal(one[name], two[name]), name


@pytest.mark.parametrize("setup", ANY_KERNEL)
@pytest.mark.parametrize("labels", [LABELS, (30, 10, 20, 40)], ids=["text", "integers"])
def test_labels(setup, labels, tmp_path):
    opt = build(setup, tp.Finite(labels), tp.Precomputed(GRAM))
    opt.tell(labels[2], [1.0, -4.0, 2.0])
    again = reload(opt, tmp_path)
    assert again.space.labels == labels
    assert again.ask() == opt.ask()
    assert again.history.points.tolist() == [labels[2]] * 3
    assert_continues(opt, tmp_path, count=10)


KERNELS = [
    tp.SquaredExponential(0.3),
    tp.SquaredExponential((0.3, 0.7)),
    tp.Matern(0.7, (0.1 + 0.2, 1 / 3)),
    tp.Linear(0.1),
    0.3 * tp.Matern(2.5, 0.4) + tp.Linear() * tp.SquaredExponential(0.5),
    (tp.Linear() + 2 * (tp.Matern(1.5, 0.2) * 0.1)) * (tp.SquaredExponential(1) + tp.Linear(1e-9)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels(kernel, tmp_path):
    arms = np.random.default_rng(0).uniform(size=(7, 2))
    opt = build("tgp_ucb theory", tp.Finite(arms), kernel)
    opt.tell_index(*rounds(20, arms=7))
    assert reload(opt, tmp_path).config.kernel == kernel
    assert_continues(opt, tmp_path)


def test_several_kernel_matrices_in_one_kernel(tmp_path):
    kernel = 0.5 * tp.Precomputed(GRAM) + tp.Precomputed(np.eye(4)) * tp.Precomputed(GRAM**2)
    opt = build("ata_gp_ucb theory nystrom", tp.Finite(LABELS), kernel)
    opt.tell_index(*rounds(20, arms=4))
    assert reload(opt, tmp_path).config.kernel == kernel
    assert_continues(opt, tmp_path)


@pytest.mark.parametrize("bits", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
@pytest.mark.parametrize("features", ["nystrom", "rff"])
def test_generators(bits, features, tmp_path):
    rng = np.random.Generator(getattr(np.random, bits)(3))
    rng.random(5), rng.integers(7, dtype=np.int32)  # half of a 64-bit draw is kept back
    opt = build(f"ata_gp_ucb theory {features}", seed=rng)
    opt.tell_index(*rounds(20))
    assert_continues(opt, tmp_path)


SCHEDULES = {
    "custom numbers": ("gp_ucb theory", {"schedule": tp.CustomSchedule(2.0)}),
    "custom truncation": (
        "ata_gp_ucb theory qff",
        {"schedule": tp.CustomSchedule(2, truncation=1.5)},
    ),
    "whole numbers": ("tgp_ucb theory", {"norm_bound": 2, "ridge": 1, "failure_probability": 1}),
    "numpy numbers": ("tgp_ucb theory", {"norm_bound": np.float64(2.0), "ridge": np.float32(0.5)}),
    "numpy integer horizon": ("ata_gp_ucb theory exact", {"horizon": np.int64(50)}),
    "numpy float32 bound": ("ata_gp_ucb theory exact", {"norm_bound": np.float32(0.5)}),
    "numpy nodes": ("ata_gp_ucb theory", {"features": tp.QuadratureFourier(np.int64(32))}),
    "numpy frequencies": ("ata_gp_ucb theory", {"features": tp.RandomFourier(np.int32(9))}),
    "numpy oversampling": ("ata_gp_ucb theory", {"features": tp.Nystrom(oversampling=np.int64(3))}),
    "numpy beta": ("gp_ucb theory", {"schedule": tp.CustomSchedule(np.float32(2.0))}),
    "blocks": ("moma_gp_ucb heuristic exact", {"blocks": np.int64(3)}),
    "variance": ("ata_gp_ucb theory qff", {"variance": "ii", "beta_multiplier": 0.1}),
}


@pytest.mark.parametrize("case", SCHEDULES)
def test_options(case, tmp_path):
    setup, changes = SCHEDULES[case]
    opt = build(setup, **changes)
    opt.tell_index(*rounds(20))
    assert_continues(opt, tmp_path)


def test_extreme_payoffs_survive(tmp_path):
    opt = build("tgp_ucb theory")
    payoffs = [1e280, -1e280, 5e-324, -0.0, 0.1 + 0.2, np.nextafter(1.0, 2.0)]
    opt.tell([0.5], payoffs)
    again = reload(opt, tmp_path).history.payoffs
    assert again.tobytes() == np.array(payoffs).tobytes()


class MyKernel:
    def matrix(self, X, Y):
        return np.exp(-np.abs(X - Y.T))

    def diagonal(self, X):
        return np.ones(len(X))


UNSAVABLE = {
    "schedule": lambda: build("gp_ucb theory", schedule=tp.CustomSchedule(lambda t: 1.0)),
    "beta": lambda: build("tgp_ucb theory", schedule=tp.CustomSchedule(np.log)),
    "truncation": lambda: build(
        "tgp_ucb theory", schedule=tp.CustomSchedule(1.0, truncation=lambda t: t**0.25)
    ),
    "kernel": lambda: build("tgp_ucb theory", kernel=MyKernel()),
}


@pytest.mark.parametrize("name", UNSAVABLE)
def test_code_is_refused_and_an_older_file_stays(name, tmp_path):
    build("gp_ucb theory").save(tmp_path / "run.npz")
    before = (tmp_path / "run.npz").read_bytes()
    with pytest.raises(ValueError, match=rf"`.*{name}.*` must be made of .* to be saved, but got"):
        UNSAVABLE[name]().save(tmp_path / "run.npz")
    assert (tmp_path / "run.npz").read_bytes() == before
    assert os.listdir(tmp_path) == ["run.npz"]


@every_setup
def test_files_hold_json_and_plain_arrays_and_no_pickled_objects(setup, tmp_path):
    opt = build(setup)
    opt.tell_index(*rounds(20))
    opt.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    json.loads(arrays.pop("header.json"))
    arrays.pop("checksum")
    assert all(array.dtype.kind in "if" for array in arrays.values())


def test_the_header_is_json_that_others_read(tmp_path):
    # JSON has no infinity, which is a CustomSchedule's default truncation.
    opt = tp.gp_ucb(tp.Finite([[0.0], [1.0]]), tp.Linear(), tp.CustomSchedule(2.0), seed=0)
    opt.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        json.loads(file["header.json"], parse_constant=pytest.fail)
    again = tp.load(tmp_path / "run.npz")
    assert again.config.options["schedule"] == opt.config.options["schedule"]


def seeded(bits):
    return np.random.Generator(getattr(np.random, bits)(3))


UNSOUND = {
    "an arm that there is not": ("PCG64", lambda h, a: a["history.indices"].__setitem__(0, 9)),
    "a negative arm": ("PCG64", lambda h, a: a["history.indices"].__setitem__(0, -1)),
    "a payoff that is not a number": (
        "PCG64",
        lambda h, a: a["history.payoffs"].__setitem__(0, np.nan),
    ),
    "more payoffs than there are": ("PCG64", lambda h, a: h.update(payoffs=31)),
    "arms of another shape": ("PCG64", lambda h, a: h.update(arms=[3, 3])),
    "a pending arm that there is not": ("PCG64", lambda h, a: h.update(pending=[9])),
    "a pending arm that is true": ("PCG64", lambda h, a: h.update(pending=[True])),
    "a dictionary of arms that there are not": (
        "PCG64",
        lambda h, a: h["posterior"].update(dictionary=[9]),
    ),
    "a dictionary out of order": ("PCG64", lambda h, a: h["posterior"].update(dictionary=[2, 1])),
    "a refresh to come": ("PCG64", lambda h, a: h["posterior"].update(refreshed=31)),
    "a refresh that is text": ("PCG64", lambda h, a: h["posterior"].update(refreshed="0")),
    "sums to come": ("PCG64", lambda h, a: h["posterior"].update(summed=31)),
    "a generator of another kind": (
        "PCG64",
        lambda h, a: h["random"].update(bit_generator="SFC64"),
    ),
    "numbers beyond the memory": ("MT19937", lambda h, a: h["random"]["state"].update(pos=10**6)),
    "numbers before the memory": ("Philox", lambda h, a: h["random"].update(buffer_pos=-1)),
    "a state too short": (
        "MT19937",
        lambda h, a: h["random"]["state"]["key"].update(values=[1, 2]),
    ),
    "a state too large": ("PCG64", lambda h, a: h["random"]["state"].update(state=2**128)),
}


@pytest.mark.parametrize("case", UNSOUND)
def test_a_run_that_cannot_have_been_is_refused(case, tmp_path):
    bits, change = UNSOUND[case]
    opt = build("moma_gp_ucb heuristic nystrom", seed=seeded(bits))
    opt.tell_index(*rounds(30))
    opt.ask_index()
    opt.save(tmp_path / "good.npz")
    header, arrays = contents(tmp_path / "good.npz")
    write(tmp_path / "same.npz", header, arrays)
    assert len(tp.load(tmp_path / "same.npz")) == 30
    change(header, arrays)
    write(tmp_path / "bad.npz", header, arrays)
    with pytest.raises(ValueError, match=r"`path` must be .*, but .*bad.npz"):
        tp.load(tmp_path / "bad.npz")
