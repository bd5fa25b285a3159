"""State files: written whole or not at all; one that is foreign or damaged is refused clearly."""

import gc
import json
import os
import pickle

import numpy as np
import pytest

import tailproof as tp
from policy_setups import build, rounds

pytestmark = pytest.mark.filterwarnings("ignore::tailproof.TheoryWarning")


# ---- saving -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["run.npz", "run", "run.of.today", "with space.npz"])
def test_the_file_is_exactly_the_path_given(path, tmp_path):
    opt = build("gp_ucb theory")
    opt.save(str(tmp_path / path))
    assert os.listdir(tmp_path) == [path]
    assert len(tp.load(str(tmp_path / path))) == 0


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


# ---- loading ------------------------------------------------------------------------------------


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
    "unknown kernel": {"kernel": {"type": "Evil", "fields": {}}},
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
