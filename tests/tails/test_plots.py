"""The plots of a diagnosis."""

import numpy as np
import pytest

from tailproof.tails import diagnose, diagnose_file
from tailproof.tails.plots import draw


@pytest.mark.parametrize(
    "payoffs",
    [
        np.random.default_rng(3).standard_t(3, 300),
        np.random.default_rng(4).standard_normal((40, 65)),
        np.random.default_rng(5).standard_normal((200, 2)).cumsum(axis=0),
        (np.random.default_rng(6).random(200) < 0.5).astype(float),
    ],
    ids=["one arm", "many arms", "walks", "coin"],
)
def test_every_kind_of_diagnosis_can_be_drawn(tmp_path, payoffs):
    pytest.importorskip("matplotlib", reason="drawing needs matplotlib")
    path = draw(diagnose(payoffs), tmp_path / "t.png")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_names_are_drawn_as_text_whatever_they_hold(tmp_path):
    pytest.importorskip("matplotlib", reason="drawing needs matplotlib")
    rng = np.random.default_rng(7)
    rows = [f"{name},{y}" for name in ("$x_{$", "a\x1b", "漢字") for y in rng.standard_t(3, 80)]
    (tmp_path / "payoffs.csv").write_text("arm,y\n" + "\n".join(rows), encoding="utf-8")
    diagnosis = diagnose_file(tmp_path / "payoffs.csv", by="arm", value="y")
    assert draw(diagnosis, tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
