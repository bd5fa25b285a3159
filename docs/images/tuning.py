"""Draw docs/images/tuning.png: the README's example while it runs, and its estimates at the end."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

import tailproof as tp

mpl.use("Agg")
import matplotlib.pyplot as plt

EVALUATIONS = 200
rng = np.random.default_rng(1)


def mean_latency(threads, cache, batch):
    """Return the true mean latency of a setting, in ms."""
    mean = 20 * (1 + np.log2(threads / 16) ** 2 / 8) * (1 + 8 * (batch - 0.35) ** 2)
    return mean * {"lru": 1.0, "fifo": 1.7}[cache]


def latency(threads, cache, batch):
    """Return the latency of one request, in ms; its variance is infinite."""
    return mean_latency(threads, cache, batch) * (0.4 + 0.42 * rng.pareto(1.7))


space = tp.Space(
    threads=tp.Int(1, 64, log=True), cache=tp.Choice("lru", "fifo"), batch=tp.Float(0, 1)
)
optimizer = tp.Optimizer(space, seed=0, minimize=True)
payoffs, looks = [], []
for evaluation in range(1, EVALUATIONS + 1):
    trial = optimizer.ask()
    payoffs.append(latency(**trial.params))
    optimizer.tell(trial, payoffs[-1])
    if evaluation >= 10 and evaluation % 10 == 0:
        looks.append((evaluation, mean_latency(**optimizer.recommend().params)))
best = optimizer.recommend().params
batches = np.linspace(0, 1, 81)
settings = [{**best, "batch": float(batch)} for batch in batches]
prediction = optimizer.predict(settings)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), constrained_layout=True)
left.semilogy(range(1, EVALUATIONS + 1), payoffs, ".", color="0.6", label="single latencies")
left.semilogy(*zip(*looks, strict=True), "o-", ms=3, label="true mean of the recommended setting")
left.axhline(20, color="C2", ls="--", lw=1, label="true mean of the best setting")
left.set(xlabel="evaluations", ylabel="latency, ms")
left.legend(fontsize=8)
right.plot(batches, prediction.mean, label="estimated mean")
right.fill_between(batches, prediction.lower, prediction.upper, alpha=0.2, label="90 % interval")
right.plot(batches, [mean_latency(**s) for s in settings], "C2--", lw=1, label="true mean")
right.axvline(best["batch"], color="0.7", lw=1)
right.set(xlabel="batch (other parameters as recommended)", ylim=(0, 120))
right.legend(fontsize=8)
figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)
