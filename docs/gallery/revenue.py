# %% [markdown]
# # Revenue per variant
#
# Four variants of a shop page. Few visitors buy, and the amounts are heavy-tailed. Which variant brings the most revenue
# *per visitor*, and how much is lost while finding out?

# %%
import matplotlib.pyplot as plt
import numpy as np

import tailproof as tp

BUYERS = {"control": 0.050, "blue": 0.080, "red": 0.055, "green": 0.040}
MEANS = {name: 20 / 0.8 * share for name, share in BUYERS.items()}


def revenue(variant, rng):
    """Return what one visitor pays: mostly nothing, else a Pareto amount of infinite variance."""
    return 20.0 * rng.pareto(1.8) if rng.random() < BUYERS[variant] else 0.0


# %% [markdown]
# ## A test with fixed shares
#
# 2,000 visitors each. The plain means and the robust comparison:

# %%
rng = np.random.default_rng(7)
payoffs = {name: np.array([revenue(name, rng) for _ in range(2_000)]) for name in BUYERS}
for name, values in payoffs.items():
    print(f"{name:>8}: mean {values.mean():.2f}, largest payment {values.max():,.0f}")
tp.compare(payoffs, baseline="control")

# %% [markdown]
# An order may be reversed by a single payment. The comparison says which differences the payoffs support, and
# how many more are needed for the others.

# %% [markdown]
# ## A bandit instead
#
# `tp.Bandit` shows each visitor one variant and learns from the payment. No constant is chosen.


# %%
def show(seed, visitors=8_000):
    """Return a bandit after so many visitors, and the variants they were shown."""
    rng = np.random.default_rng(seed)
    bandit = tp.Bandit(list(BUYERS), seed=seed)
    shown = []
    for _ in range(visitors):
        variant = bandit.ask()
        bandit.tell(variant, revenue(variant, rng))
        shown.append(variant)
    return bandit, shown


runs = [show(seed) for seed in range(10)]
bandit, shown = runs[0]
print(bandit.recommend())
print(bandit.predict())

# %% [markdown]
# What visitors were shown in this run, and what was lost against showing everyone `blue`: in this run, in nine others
# with other payments, and on average. One run says little: a single payment can mislead for thousands of visitors.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2))
rounds = np.arange(1, len(shown) + 1)
for name in BUYERS:
    left.plot(rounds, np.cumsum([variant == name for variant in shown]) / rounds, label=name)
left.set(xlabel="visitors", ylabel="share shown so far", ylim=(0, 1))
left.legend()
best = max(MEANS.values())
lost = [np.cumsum([best - MEANS[variant] for variant in others]) for _, others in runs]
for i, course in enumerate(lost):
    right.plot(rounds, course, "C0", lw=0.7, alpha=0.4, label=None if i else "Bandit, ten runs")
right.plot(rounds, np.mean(lost, axis=0), "C0", label="their mean")
right.plot(rounds, rounds * (best - np.mean(list(MEANS.values()))), "C1", label="equal shares")
right.set(xlabel="visitors", ylabel="mean revenue lost")
right.legend()
figure.tight_layout()

# %% [markdown]
# [Choose online among arms](../bandit.md) has intervals, drift, and the benchmark with the cells that `Bandit` loses.
