"""Saving and loading: an optimizer continues bit for bit, and a bad file is refused clearly."""

import gc
import json
import os
import pickle

import numpy as np
import pytest

import tailproof as tp
from policy_setups import ANY_KERNEL, LABELS, assert_same, build, every_setup, rounds
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


# ---- continuing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("told", [0, 1, 40, REFRESH - 10, REFRESH, REFRESH + 10])
@every_setup
def test_a_run_continues_bit_for_bit(setup, told, tmp_path):
    opt = build(setup)
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


@pytest.mark.parametrize("path", ["run.npz", "run", "run.of.today", "with space.npz"])
def test_the_file_is_exactly_the_path_given(path, tmp_path):
    opt = build("gp_ucb theory")
    opt.save(str(tmp_path / path))
    assert os.listdir(tmp_path) == [path]
    assert len(tp.load(str(tmp_path / path))) == 0


def test_extreme_payoffs_survive(tmp_path):
    opt = build("tgp_ucb theory")
    payoffs = [1e280, -1e280, 5e-324, -0.0, 0.1 + 0.2, np.nextafter(1.0, 2.0)]
    opt.tell([0.5], payoffs)
    again = reload(opt, tmp_path).history.payoffs
    assert again.tobytes() == np.array(payoffs).tobytes()


# ---- what cannot be saved -----------------------------------------------------------------------


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


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
def test_an_interrupted_save_leaves_the_older_file_and_nothing_else(error, tmp_path, monkeypatch):
    opt = build("gp_ucb theory")
    opt.save(tmp_path / "run.npz")
    before = (tmp_path / "run.npz").read_bytes()

    def interrupted(stream, **arrays):
        stream.write(b"PK half a file")
        raise error

    opt.tell_index(0, 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(np, "savez_compressed", interrupted)
        with pytest.raises(type(error)):
            opt.save(tmp_path / "run.npz")
    assert (tmp_path / "run.npz").read_bytes() == before
    assert os.listdir(tmp_path) == ["run.npz"]
    opt.save(tmp_path / "run.npz")
    assert len(tp.load(tmp_path / "run.npz")) == 1


def test_a_saved_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    build("gp_ucb theory").save(tmp_path / "run.npz")
    assert (tmp_path / "run.npz").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError):
        tp.load(tmp_path / "none.npz")
    with pytest.raises(FileNotFoundError):
        build("gp_ucb theory").save(tmp_path / "no folder" / "run.npz")


# ---- files --------------------------------------------------------------------------------------


@every_setup
def test_files_hold_plain_arrays_and_no_pickled_objects(setup, tmp_path):
    opt = build(setup)
    opt.tell_index(*rounds(20))
    opt.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz", allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "ifU" for name in file.files)
        json.loads(str(file["text"]))


def test_the_text_is_json_that_others_read(tmp_path):
    # JSON has no infinity, which is a CustomSchedule's default truncation.
    opt = tp.gp_ucb(tp.Finite([[0.0], [1.0]]), tp.Linear(), tp.CustomSchedule(2.0), seed=0)
    opt.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        json.loads(str(file["text"]), parse_constant=pytest.fail)
    again = tp.load(tmp_path / "run.npz")
    assert again.config.options["schedule"] == opt.config.options["schedule"]


def good(folder):
    """The arrays and the text of a sound file."""
    opt = build("tgp_ucb theory")
    opt.tell_index(*rounds(20))
    opt.save(folder / "good.npz")
    with np.load(folder / "good.npz") as file:
        arrays = {name: file[name] for name in file.files}
    return arrays, json.loads(str(arrays.pop("text")))


def assert_refused(path):
    with pytest.raises(ValueError, match=r"`path` must be .*, but ") as caught:
        tp.load(path)
    assert str(path) in str(caught.value)
    del caught
    gc.collect()  # a file left open is reported here and not in some later test


FOREIGN = {
    "empty": b"",
    "text": b"not an npz file",
    "pickle": pickle.dumps({"format": "tailproof-arms"}),
    "half a zip": b"PK\x03\x04 and no more",
}


@pytest.mark.parametrize("case", FOREIGN)
def test_a_foreign_file_is_refused(case, tmp_path):
    (tmp_path / "file").write_bytes(FOREIGN[case])
    assert_refused(tmp_path / "file")


def test_a_folder_and_numpy_files_of_others_are_refused(tmp_path):
    assert_refused(tmp_path)
    np.save(tmp_path / "array.npy", np.zeros(3))
    assert_refused(tmp_path / "array.npy")
    np.savez(tmp_path / "arrays.npz", a=np.zeros(3))
    assert_refused(tmp_path / "arrays.npz")
    np.savez(tmp_path / "objects.npz", text=np.array([{}], dtype=object))
    assert_refused(tmp_path / "objects.npz")


@pytest.mark.parametrize("text", [3, [1, 2], "x", {}, None])
def test_another_text_is_refused(text, tmp_path):
    np.savez(tmp_path / "run.npz", text=np.array(json.dumps(text)))
    assert_refused(tmp_path / "run.npz")


TEXTS = {
    "later version": {"version": 99},
    "other format": {"format": "tailproof-boxes"},
    "unknown policy": {"policy": "os.system"},
    "unknown kernel": {"kernel": {"part": "Evil", "fields": {}}},
    "unknown generator": {"start": {"bit_generator": "default_rng"}},
    "unknown option": {"options": {"x": 1}},
    "pending nowhere": {"pending": [77]},
    "other space": {"labeled": True},
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_file_with_a_text_that_does_not_fit_is_refused(case, tmp_path):
    arrays, text = good(tmp_path)
    np.savez(tmp_path / "run.npz", text=np.array(json.dumps(text | TEXTS[case])), **arrays)
    assert_refused(tmp_path / "run.npz")


ARRAYS = ["arms", "history.indices", "history.payoffs", "posterior.core", "posterior.mean"]


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("change", ["missing", "cut", "text"])
def test_a_file_whose_arrays_do_not_fit_is_refused(name, change, tmp_path):
    arrays, text = good(tmp_path)
    array = arrays.pop(name)
    if change != "missing":
        arrays[name] = array[:-1] if change == "cut" else np.array(["x"])
    np.savez(tmp_path / "run.npz", text=np.array(json.dumps(text)), **arrays)
    assert_refused(tmp_path / "run.npz")


@pytest.mark.parametrize("damage", ["flip", "cut"])
def test_a_damaged_file_is_refused_or_loads_unchanged(damage, tmp_path):
    """Some bytes of a zip file are without meaning: then everything must still be there."""
    good(tmp_path)
    content = (tmp_path / "good.npz").read_bytes()
    mean = tp.load(tmp_path / "good.npz").predict().mean
    path, errors = tmp_path / "bad.npz", set()
    for at in range(0, len(content), 23):
        changed = bytes([content[at] ^ 0xFF]) + content[at + 1 :] if damage == "flip" else b""
        path.write_bytes(content[:at] + changed)
        try:
            same = np.array_equal(tp.load(path).predict().mean, mean)
        except Exception as error:
            errors.add(f"{type(error).__name__}: {error}"[:26])
        else:
            assert same
    gc.collect()  # a file left open is reported here and not in some later test
    assert errors <= {"ValueError: `path` must be"}


UNSOUND = {
    "a place that is none": lambda text: text["state"]["positions"][0].__setitem__(0, None),
    "a place elsewhere": lambda text: text["state"]["positions"][0].__setitem__(0, 0.999),
    "no parameters": lambda text: text["state"]["params"].__setitem__(0, []),
    "no options": lambda text: text.__setitem__("options", None),
    "a negative scale": lambda text: text["state"]["calibration"].__setitem__("scale", -1.0),
    "negative noise": lambda text: text["state"]["calibration"]["shape"].__setitem__(2, -1.0),
    "no lengthscales": lambda text: text["state"]["calibration"]["shape"].__setitem__(0, None),
    "no remainder": lambda text: text["state"]["calibration"].__setitem__("remainder", []),
    "too many payoffs": lambda text: text["state"]["calibration"].__setitem__("count", 99),
}


@pytest.mark.parametrize("case", UNSOUND)
def test_a_search_that_cannot_have_been_is_refused(case, tmp_path):
    opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1), n=tp.Int(1, 9)))
    for payoff in rounds(12)[1]:
        opt.tell(opt.ask(), float(payoff))
    opt.recommend()
    opt.save(tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz") as file:
        text = json.loads(str(file["text"]))
    UNSOUND[case](text)
    np.savez(tmp_path / "bad.npz", text=np.array(json.dumps(text)))
    assert_refused(tmp_path / "bad.npz")
