# %% [markdown]
# # Heavy tails in pictures
#
# Why the mean of a sample misleads when single payoffs are heavy-tailed, why the median answers another
# question, and what a robust mean does instead.

# %%
import matplotlib.pyplot as plt
import numpy as np

from tailproof.means import robust_mean

rng = np.random.default_rng(4)

# %% [markdown]
# ## One payoff decides the mean
#
# Two laws with mean 1. The first is normal. The second is a Pareto law with tail index 1.6: its mean exists, its
# variance does not. The mean of the first n payoffs converges quickly for the normal law; for the Pareto law it falls
# slowly and jumps whenever a payoff arrives that is larger than all before.

# %%
n = 3_000
normal = 1 + 0.5 * rng.standard_normal(n)
pareto = 0.6 * rng.pareto(1.6, n)

figure, panels = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
for panel, name, payoffs in zip(panels, ("normal", "Pareto"), (normal, pareto), strict=True):
    panel.plot(np.cumsum(payoffs) / np.arange(1, n + 1))
    panel.axhline(1.0, color="black", linewidth=0.8)
    panel.set(title=name, xlabel="payoffs", ylim=(0, 2))
panels[0].set_ylabel("mean so far")
figure.tight_layout()
print(f"largest payoff: normal {normal.max():.1f}, Pareto {pareto.max():.1f}")
largest = np.sort(pareto)[-n // 100 :].sum() / pareto.sum()
print(f"share of the Pareto total that the largest hundredth makes up: {largest:.0%}")

# %% [markdown]
# ## Three estimates of one mean
#
# 1,000 samples of 200 payoffs each, and three estimates from every sample. The sample mean is right on average and far
# off now and then: always upward, where one payoff is huge. The median is stable at another number. The robust mean
# limits what one payoff can do, by a limit that grows with the sample, so that it remains an estimate of the mean.

# %%
samples = 0.6 * rng.pareto(1.6, (1_000, 200))
estimates = {
    "sample mean": samples.mean(axis=1),
    "median": np.median(samples, axis=1),
    "robust mean": np.array([robust_mean(sample).mean for sample in samples]),
}
figure, panels = plt.subplots(3, 1, figsize=(7, 5), sharex=True)
for panel, (name, values) in zip(panels, estimates.items(), strict=True):
    panel.hist(np.clip(values, 0, 3), bins=np.linspace(0, 3, 91))
    panel.axvline(1.0, color="black", linewidth=0.8)
    panel.set_ylabel(name)
panels[-1].set_xlabel("estimate (values above 3 are drawn at 3); the mean is 1")
for name, values in estimates.items():
    error = np.sqrt(np.mean((values - 1) ** 2))
    print(f"{name:>11}: root mean squared error {error:.2f}, worst estimate {values.max():.1f}")

# %% [markdown]
# The robust mean lies below 1 on average: what the largest payoffs would add is not known from 200 of them. That is the
# price of an estimate that no single payoff can ruin, and it shrinks as payoffs are added.

# %% [markdown]
# ## How heavy?
#
# On logarithmic axes the share of payoffs beyond x is a straight line for a Pareto law; its slope is the tail index. The
# normal law bends down.

# %%
figure, panel = plt.subplots(figsize=(6, 3.5))
for name, payoffs in {"normal": normal, "Pareto": pareto}.items():
    beyond = np.arange(n, 0, -1) / n
    panel.loglog(np.sort(np.abs(payoffs)), beyond, label=name)
panel.set(xlabel="x", ylabel="share of payoffs beyond x", xlim=(0.05, None))
panel.legend()
figure.tight_layout()

# %% [markdown]
# `tailproof diagnose` estimates the index from a file and says which moments may be relied on:
# [Diagnosing tails](../diagnose.md).
