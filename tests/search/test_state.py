"""The state of a practical optimizer: all is kept, and unsound files are refused."""

import json

import numpy as np
import pytest

import tailproof as tp
from searches import LINE, line, snapshot
from tailproof.search.state import from_state, to_state


def fitted(noise, n=100, seed=2):
    """An optimizer with a fitted model."""
    rng = np.random.default_rng(seed)
    opt = line(tp.Optimizer(LINE), [noise(rng) for _ in range(n)])
    opt.recommend()
    return opt


def one_sided(rng):
    return 0.3 * (30.0 if rng.random() < 0.1 else 1.0) * rng.exponential()


def both_sides(rng):
    return 0.3 * (50.0 if rng.random() < 0.06 else 1.0) * rng.standard_normal()


@pytest.mark.parametrize(
    ("noise", "psi", "varying"),
    [(one_sided, "WindowPsi", True), (both_sides, "StudentTPsi", False)],
)
def test_every_kind_of_model_survives_json(noise, psi, varying):
    opt = fitted(noise)
    header, arrays = to_state(opt)
    model = header["model"]["fields"]
    assert model["psi"]["type"] == psi
    assert (model["tail_correction"]["fields"]["outliers"] is not None) is varying
    if psi == "WindowPsi":
        assert model["psi"]["fields"]["lower"] == {"float": "-inf"}  # JSON has no infinity
    again = from_state(json.loads(json.dumps(header, allow_nan=False)), arrays)
    assert snapshot(again) == snapshot(opt)
    assert again.ask() == opt.ask()


def test_arrays_are_stored_as_arrays(tmp_path):
    opt = fitted(one_sided, n=20)
    opt.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz", allow_pickle=False) as file:
        assert file["positions"].shape == (20, 1)
        assert file["completed.values"].tolist() == [done.value for done in opt.trials]
        assert file["part.model.kernel.lengthscales"].shape == (1,)


def change(*path, value):
    """Return a function that replaces one field of the fitted model in a header."""

    def apply(header, arrays):
        part = header["model"]
        for name in path[:-1]:
            part = part["fields"][name]
        part["fields"][path[-1]] = value

    return apply


def change_array(name, value):
    return lambda header, arrays: arrays.__setitem__(name, value)


UNSOUND = {
    "positions that are text": change_array("positions", np.full((12, 2), "x")),
    "positions that are not numbers": change_array("positions", np.full((12, 2), np.nan)),
    "positions elsewhere": change_array("positions", np.full((12, 2), 0.999)),
    "positions too few": change_array("positions", np.zeros((3, 2))),
    "payoffs too few": change_array("completed.values", np.zeros(3)),
    "payoffs that are not numbers": change_array("completed.values", np.full(12, np.nan)),
    "trials told twice": change_array("completed.numbers", np.zeros(12, dtype=np.int64)),
    "numbers that are no integers": change_array("completed.numbers", np.arange(12.0) + 0.5),
    "no parameters": lambda header, arrays: header["params"].__setitem__(0, []),
    "no options": lambda header, arrays: header.__setitem__("options", None),
    "a model that is none": lambda header, arrays: header.__setitem__("model", 3),
    "another part as model": lambda header, arrays: header.__setitem__("model", header["options"]),
    "a negative scale": change("scale", value=-1.0),
    "negative noise": change("kernel", "noise_var", value=-1.0),
    "no kernel": change("kernel", value=None),
    "no lengthscales": change("kernel", "lengthscales", value=None),
    "lengthscales of another space": change_array("part.model.kernel.lengthscales", np.ones(5)),
    "lengthscales that are text": change_array("part.model.kernel.lengthscales", np.full(2, "x")),
    "no psi": change("psi", value=None),
    "a center that is text": change("psi", "center", value="0"),
    "a tail correction that is a list": change("tail_correction", value=[]),
    "inducing points that are a list": change("inducing_points", value=[]),
    "too many payoffs": change("count", value=99),
}


@pytest.mark.parametrize("case", UNSOUND)
def test_a_search_that_cannot_have_been_is_refused(case, tmp_path):
    opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1), n=tp.Int(1, 9)))
    for payoff in np.random.default_rng(1).standard_t(1.5, 12):
        opt.tell(opt.ask(), float(payoff))
    opt.recommend()
    opt.save(tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz") as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(str(arrays.pop("text")))
    np.savez(tmp_path / "same.npz", text=np.array(json.dumps(header)), **arrays)
    assert len(tp.load(tmp_path / "same.npz")) == 12
    UNSOUND[case](header, arrays)
    np.savez(tmp_path / "bad.npz", text=np.array(json.dumps(header)), **arrays)
    with pytest.raises(ValueError, match=r"`path` must be .*, but .*bad.npz"):
        tp.load(tmp_path / "bad.npz")
