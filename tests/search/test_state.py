"""The state of a practical optimizer: a file that no search can have written is refused."""

import json

import numpy as np
import pytest

import tailproof as tp

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
    for payoff in np.random.default_rng(1).standard_t(1.5, 12):
        opt.tell(opt.ask(), float(payoff))
    opt.recommend()
    opt.save(tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz") as file:
        text = json.loads(str(file["text"]))
    UNSOUND[case](text)
    np.savez(tmp_path / "bad.npz", text=np.array(json.dumps(text)))
    with pytest.raises(ValueError, match=r"`path` must be .*, but .*bad.npz"):
        tp.load(tmp_path / "bad.npz")
