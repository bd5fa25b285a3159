import numpy as np

from tailproof.tune import demo_program


class Draws:
    """Hands out given numbers as if they were random."""

    def __init__(self, *numbers):
        self._left = list(numbers)

    def random(self):
        return self._left.pop()


def test_the_demo_program_follows_its_documented_law():
    params = {"threads": 4, "cache": "fifo", "batch": 0.6}
    # Parts of the quantile function in the middle of 300 x 300 equal parts of the two draws: their
    # mean is that of the law, but for (1 / 300)^(1 - 1 / 1.7) = 10 % of its heavy part, at most.
    parts = (np.arange(300) + 0.5) / 300
    for cache, low in (("fifo", 0.1), ("lru", 0.4)):
        params["cache"] = cache
        mean = demo_program.true_mean(params)
        pairs = [Draws(u, v) for u in parts[::3] for v in parts]
        drawn = np.array([demo_program.latency(params, pair) for pair in pairs])
        assert 0.9 * mean < drawn.mean() < mean
        assert drawn.min() >= 0.999 * low * mean
    settings = [
        {"threads": t, "cache": c, "batch": b}
        for t in range(1, 65)
        for c in demo_program.CACHES
        for b in np.linspace(0.0, 1.0, 21)
    ]
    best = min(settings, key=demo_program.true_mean)
    assert (best["threads"], best["cache"], round(best["batch"], 9)) == (16, "lru", 0.35)


def test_the_demo_program_draws_anew_unless_it_is_seeded(monkeypatch, capsys):
    def once():
        demo_program.main(["--threads", "4", "--cache", "lru", "--batch", "0.5"])
        return capsys.readouterr().out

    assert once() != once()
    monkeypatch.setenv(demo_program.SEED, "1")
    monkeypatch.setenv("TAILPROOF_TRIAL", "5")
    first = once()
    assert first == once()
    monkeypatch.setenv("TAILPROOF_TRIAL", "6")
    assert first != once()
