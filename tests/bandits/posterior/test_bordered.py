"""Dictionaries of nearly all arms played by borders: against dense inverses and the other path."""

import numpy as np
import pytest

import tailproof as tp
from policy_setups import use_borders
from tailproof._compiled.bordered import border_rows
from tailproof.bandits.posterior.bordered import BorderedInverseRoot
from tailproof.bandits.posterior.nystrom import Sampling


def problem(seed, constraints, told):
    """Eigenvalues, border and noise, and the matrix M compressed to the constraints' complement."""
    rng = np.random.default_rng(seed)
    values = np.geomspace(1.0, 1e4, 20)
    border = rng.standard_normal((constraints + told, 20))
    noise = np.concatenate([np.zeros(constraints), rng.uniform(0.1, 1.0, told)])
    added = border[constraints:].T / noise[constraints:]
    whole = np.diag(values) + added @ border[constraints:]
    complete = np.linalg.qr(border[:constraints].T, mode="complete")[0]
    basis = complete[:, constraints:]
    return values, border, noise, basis, basis.T @ whole @ basis


@pytest.mark.parametrize(("constraints", "told"), [(0, 0), (0, 4), (3, 0), (5, 4)])
def test_borders_give_the_compressed_inverse_and_its_root(constraints, told):
    values, border, noise, basis, compressed = problem(constraints, constraints, told)
    rows, log_det = border_rows(values, border, noise)
    inverse = basis @ np.linalg.inv(compressed) @ basis.T
    np.testing.assert_allclose(np.diag(1.0 / values) - rows.T @ rows, inverse, atol=1e-13)
    outside = np.linalg.slogdet(border[:constraints] @ border[:constraints].T)[1]
    found = np.log(values).sum() + log_det - np.log(noise[constraints:]).sum() - outside
    assert found == pytest.approx(np.linalg.slogdet(compressed)[1], rel=1e-12)
    lengths, vectors = np.linalg.eigh(compressed)
    root = basis @ (vectors / np.sqrt(lengths)) @ vectors.T @ basis.T
    found = BorderedInverseRoot(values, border, noise).times(np.eye(20))
    np.testing.assert_allclose(found, root, atol=2e-12)


def test_a_repeated_constraint_changes_nothing():
    values, border, noise, _, _ = problem(1, 3, 2)
    doubled, twice = np.vstack([border[:1], border]), np.append(0.0, noise)
    rows, log_det = border_rows(values, border, noise)
    again, same = border_rows(values, doubled, twice)
    np.testing.assert_allclose(again.T @ again, rows.T @ rows, atol=1e-12)
    assert same == pytest.approx(log_det, rel=1e-10)
    columns = np.ones((1, 20))
    expected = BorderedInverseRoot(values, border, noise).times(columns)
    found = BorderedInverseRoot(values, doubled, twice).times(columns)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def played(seed=3):
    """Return a policy on 24 arms whose dictionaries lose few of them, and its payoffs."""
    opt = tp.ata_gp_ucb(
        tp.Finite(np.linspace(0.0, 1.0, 24)[:, None]),
        tp.Matern(1.5, 0.2),
        features=tp.Nystrom(0.5, oversampling=15.0),
        moment=tp.MomentBound(1.0, 2.0),
        norm_bound=1.0,
        horizon=400,
        schedule="authors",
        seed=seed,
    )
    rng = np.random.default_rng(5)
    return opt, rng.standard_t(3.0, 200) + 30.0 * (np.arange(200) % 17 == 0)


def test_borders_give_the_choices_and_numbers_of_the_factors(monkeypatch):
    def run_rounds():
        (opt, payoffs), bordered = played(), 0
        for payoff in payoffs:
            opt.tell_index(opt.ask_index(), float(payoff))
            bordered += opt.posterior._bordered is not None
        return opt, bordered

    slow, bordered = run_rounds()
    assert bordered == 0
    use_borders(monkeypatch)
    quick, bordered = run_rounds()
    assert bordered > 50
    assert 0 < len(quick.posterior.dictionary) < 24
    assert (quick.history.indices == slow.history.indices).all()
    for points in (None, np.linspace(-0.1, 1.1, 30)[:, None]):
        expected, found = slow.predict(points), quick.predict(points)
        np.testing.assert_allclose(found.mean, expected.mean, atol=1e-10)
        np.testing.assert_allclose(found.std, expected.std, atol=1e-10)
    for arm in range(24):
        expected, found = slow.posterior.covariance(arm), quick.posterior.covariance(arm)
        np.testing.assert_allclose(found, expected, atol=1e-10)
    assert quick.posterior.log_det == pytest.approx(slow.posterior.log_det, abs=1e-10)


def test_a_saved_policy_continues_from_borders_bit_for_bit(monkeypatch, tmp_path):
    use_borders(monkeypatch)
    opt, payoffs = played()
    for payoff in payoffs[:190]:
        opt.tell_index(opt.ask_index(), float(payoff))
    assert opt.posterior._bordered is not None
    opt.save(tmp_path / "policy.npz")
    again = tp.load(tmp_path / "policy.npz")
    for payoff in payoffs[190:]:
        np.testing.assert_array_equal(again.predict().mean, opt.predict().mean)
        np.testing.assert_array_equal(again.predict().std, opt.predict().std)
        arm = opt.ask_index()
        assert again.ask_index() == arm
        opt.tell_index(arm, float(payoff))
        again.tell_index(arm, float(payoff))


@pytest.mark.parametrize("each_round", [True, False])
def test_chances_are_those_of_the_draws(each_round):
    sampling = Sampling(oversampling=0.6, each_round=each_round, by_leverage=True)
    variance, counts = np.array([0.1, 0.5, 4.0, 0.3]), np.array([3.0, 1.0, 2.0, 0.0])
    p = np.array([0.03, 0.15, 1.0])  # q variance / ridge for a ridge of 2, at most 1
    expected = 1.0 - (1.0 - p) ** counts[:3] if each_round else p
    chances = sampling.chances(variance, counts, 2.0)
    np.testing.assert_allclose(chances, [*expected, 0.0])
    rng = np.random.default_rng(0)
    drawn = [sampling.draw(variance, counts, 2.0, rng) for _ in range(4000)]
    frequency = np.bincount(np.concatenate(drawn), minlength=4) / 4000
    np.testing.assert_allclose(frequency, chances, atol=0.03)
