"""A replayed table of payoffs as text, JSON and a picture."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailproof._util import files
from tailproof._util.console import printable, text_table
from tailproof._util.plotting import image, new_figure, plain_text
from tailproof.bandits.simulation import BANDIT, Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ARMS = 12
_COLORS = ("C0", "C1", "0.5")


def policy_table(result: Simulation) -> str:
    """Return a table of the replays: regret, share of rounds at the best arm, recommendations."""
    rows = []
    for replay in result.replays:
        rounds = replay.regret.shape[1]
        final = replay.regret[:, -1]
        right = int((replay.recommended == result.best).sum())
        loss = np.abs(result.means[result.best] - result.means[replay.recommended]).mean()
        rows.append(
            (
                replay.policy,
                f"{final.mean():.4g}",
                f"{final.mean() / rounds:.4g}",
                f"{100 * (replay.choices == result.best).mean():.0f} %",
                f"{right} of {len(final)}",
                f"{loss:.4g}",
            )
        )
    header = ("policy", "regret", "a round", "at the best", "recommended it", "mean lost by it")
    return text_table(header, rows, right=range(1, 6))


def arm_table(result: Simulation) -> str:
    """Return the recorded means of the best arms, and how often `Bandit` chose them in replays."""
    sign = -1.0 if result.minimize else 1.0
    order = np.argsort(-sign * result.means, kind="stable")[:MOST_ARMS]
    chosen = _bandit_shares(result)
    rows = [
        (
            result.names[i],
            str(int(result.recorded[i])),
            f"{result.means[i]:.4g}",
            f"{100 * chosen[i]:.1f} %",
        )
        for i in order
    ]
    return text_table(("arm", "recorded", "mean", "chosen by Bandit"), rows, right=range(1, 4))


def _bandit_shares(result: Simulation) -> Any:
    """Return how often `Bandit` chose each arm in the replays, as shares."""
    (replay,) = [replay for replay in result.replays if replay.policy == BANDIT]
    return np.bincount(replay.choices.ravel(), minlength=len(result.names)) / replay.choices.size


def to_dict(result: Simulation) -> dict[str, Any]:
    """Return the results of the replays as plain data for a JSON file."""
    return {
        "arms": [
            {"name": name, "recorded": int(count), "mean": float(mean)}
            for name, count, mean in zip(result.names, result.recorded, result.means, strict=True)
        ],
        "best": result.names[result.best],
        "minimize": result.minimize,
        "policies": [
            {
                "policy": replay.policy,
                "rounds": replay.regret.shape[1],
                "regret": replay.regret[:, -1].tolist(),
                "recommended": [result.names[i] for i in replay.recommended],
                "share_at_best": float((replay.choices == result.best).mean()),
            }
            for replay in result.replays
        ],
    }


def draw(result: Simulation, path: Path) -> Path:
    """Draw regret over time, and the arms that `Bandit` chose over time; return the path."""
    with plain_text():
        files.write_bytes(path, image(_draw_replays(result), path.suffix.lstrip(".")))
    return path


def _draw_replays(result: Simulation) -> Figure:
    """Return the figure of the replays: regret, and the share of each arm."""
    figure = new_figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for replay, color in zip(result.replays, _COLORS, strict=True):
        t = np.arange(1, replay.regret.shape[1] + 1)
        left.plot(t, replay.regret.mean(axis=0), color=color, label=replay.policy)
        low, high = np.quantile(replay.regret, (0.1, 0.9), axis=0)
        left.fill_between(t, low, high, color=color, alpha=0.15, linewidth=0)
    left.set(xlabel="round", ylabel="cumulative regret", title="mean, and 10 % to 90 % of the runs")
    left.legend(frameon=False)
    (replay,) = [replay for replay in result.replays if replay.policy == BANDIT]
    rounds = replay.choices.shape[1]
    edges = np.unique(np.linspace(0, rounds, min(rounds, 60) + 1).astype(np.int64))
    top = np.argsort(-_bandit_shares(result), kind="stable")[:8]
    shares = np.stack(
        [
            [(replay.choices[:, a:b] == arm).mean() for a, b in itertools.pairwise(edges)]
            for arm in top
        ]
    )
    middles = 0.5 * (edges[:-1] + edges[1:])
    names = [printable(result.names[i], 28) + (" (best)" if i == result.best else "") for i in top]
    right.stackplot(middles, shares, labels=names, linewidth=0)
    right.set(xlabel="round", ylabel="share of rounds", ylim=(0, 1), title="arms chosen by Bandit")
    right.legend(frameon=False, fontsize="small", loc="lower right")
    return figure
