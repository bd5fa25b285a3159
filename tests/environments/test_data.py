"""Data environments: the files' own figures, uniform draws, and what malformed files are told."""

import csv
import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from data_files import FOLDER
from tailproof.environments import (
    ArmEnvironment,
    DataArms,
    DataFileError,
    load_claims,
    load_latency,
    load_light,
    load_stand_in_stocks,
    load_stocks,
)

needs_data = pytest.mark.skipif(
    not (FOLDER / "stocks.csv").exists(),
    reason="the data files are not in TAILPROOF_DATA nor in ../shared/data beside the clone",
)


def columns(name):
    with (FOLDER / name).open(newline="") as stream:
        header, *rows = csv.reader(stream)
    return {key: [row[i] for row in rows] for i, key in enumerate(header)}


def records(arms, arm):
    """The payoffs of one arm, in the order of the file."""
    return np.split(arms.values, np.cumsum(arms.counts)[:-1])[arm]


def numbers(name, skip=0):
    table = columns(name)
    keys = list(table)[skip:]
    return keys, np.array([[float(cell) for cell in table[key]] for key in keys]).T


@needs_data
def test_stocks_are_the_papers():
    arms = load_stocks(FOLDER)
    tickers, prices = numbers("stocks.csv", skip=1)
    assert len(arms.labels) == 29
    assert prices.shape == (823, 29)
    assert arms.labels == tuple(tickers)
    np.testing.assert_allclose(arms.means, prices.mean(axis=0))
    np.testing.assert_allclose(arms.gram, np.corrcoef(prices.T), atol=1e-10)
    assert arms.mean_square == pytest.approx((prices**2).mean())
    assert arms.max_abs_mean == pytest.approx(prices.mean(axis=0).max())
    assert arms.left_out == 0
    assert isinstance(arms, ArmEnvironment)


@needs_data
def test_light_takes_its_kernel_from_train_and_its_payoffs_from_test():
    arms = load_light(FOLDER)
    _, train = numbers("light_train.csv")
    _, test = numbers("light_test.csv")
    assert train.shape == (601, 41)
    assert test.shape == (192, 41)
    np.testing.assert_allclose(arms.means, test.mean(axis=0))
    np.testing.assert_allclose(arms.gram, np.corrcoef(train.T), atol=1e-10)
    assert arms.mean_square == pytest.approx((test**2).mean())
    assert arms.max_abs_mean == pytest.approx(test.mean(axis=0).max())
    assert arms.coordinates.shape == (41, 2)
    np.testing.assert_allclose(arms.coordinates.min(axis=0), 0.0)
    np.testing.assert_allclose(arms.coordinates.max(axis=0), 1.0)
    place = columns("light_coords.csv")
    x = np.array([float(cell) for cell in place["x"]])
    np.testing.assert_allclose(arms.coordinates[:, 0], (x - x.min()) / np.ptp(x))


@needs_data
def test_latency_pays_minus_the_seconds():
    arms = load_latency(FOLDER)
    names, seconds = numbers("latency.csv")
    assert seconds.shape == (688, 98)
    assert arms.labels == tuple(names)
    np.testing.assert_allclose(arms.means, -seconds.mean(axis=0))
    assert arms.labels[int(arms.means.argmax())] == names[int(seconds.mean(axis=0).argmin())]
    assert arms.gram is None
    assert arms.left_out == 0


@needs_data
@pytest.mark.parametrize("min_count", [30, 400])
def test_claims_by_age_pay_minus_the_average_claim(min_count):
    arms = load_claims(FOLDER, by="ageph", min_count=min_count)
    table = columns("claims.csv")
    age = np.array([float(cell) for cell in table["ageph"]])
    average = np.array([float(cell) for cell in table["average"]])
    expected = {a: -average[age == a] for a in np.unique(age) if (age == a).sum() >= min_count}
    assert [float(label) for label in arms.labels] == list(expected)
    for i, payoffs in enumerate(expected.values()):
        np.testing.assert_array_equal(records(arms, i), payoffs)
    assert arms.counts.min() >= min_count
    assert arms.left_out + arms.values.size == 18_276
    assert arms.coordinates.shape == (len(expected), 1)
    assert np.all(np.diff(arms.coordinates[:, 0]) > 0.0)
    second = max(np.mean(payoffs**2) for payoffs in expected.values())
    assert arms.moment_bound(1.0) == pytest.approx(second)


@needs_data
def test_claims_by_postcode_lie_in_the_unit_square():
    arms = load_claims(FOLDER, by="postcode")
    table = columns("claims.csv")
    assert len(arms.labels) == 163
    assert arms.coordinates.shape == (163, 2)
    assert arms.coordinates.min() == 0.0
    assert arms.coordinates.max() == 1.0
    rows = [i for i, code in enumerate(table["postcode"]) if code == arms.labels[0]]
    expected = [-float(table["average"][i]) for i in rows]
    assert records(arms, 0).tolist() == expected


@needs_data
@pytest.mark.parametrize(
    "load", [load_stocks, load_light, load_latency, load_claims], ids=lambda f: f.__name__
)
def test_draws_are_uniform_over_an_arms_records(load):
    """Chi-square on the drawn rows; a fresh seed fails with probability 1e-6."""
    arms = load(FOLDER)
    arm = int(arms.counts.argmin())
    recorded = records(arms, arm)
    draws = arms.sample(np.full(100 * recorded.size, arm), np.random.default_rng(1))
    kinds, weight = np.unique(recorded, return_counts=True)
    seen = np.array([(draws == kind).sum() for kind in kinds])
    assert seen.sum() == draws.size
    assert stats.chisquare(seen, 100.0 * weight).pvalue > 1e-6


def test_draws_keep_arms_apart():
    arms = DataArms("x", ("a", "b", "c"), [1.0, 2.0, 30.0, 400.0, 500.0], [2, 1, 2])
    picks = np.array([0, 2, 1] * 200)
    y = arms.sample(picks, np.random.default_rng(0))
    for arm, allowed in enumerate(({1.0, 2.0}, {30.0}, {400.0, 500.0})):
        assert set(y[picks == arm]) == allowed
    assert np.array_equal(arms.means, [1.5, 30.0, 450.0])
    assert arms.moment_bound(1.0) == pytest.approx((400.0**2 + 500.0**2) / 2.0)
    assert np.array_equal(y, arms.sample(picks, np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DataArms("x", ("a",), [1.0], [2]), "`counts` must be positive, .* sum to"),
        (lambda: DataArms("x", ("a", "b"), [1.0], [1]), r"one a label \(2\)"),
        (lambda: DataArms("x", ("a",), [1.0], [1], gram=np.eye(2)), "`gram` must fit 1 arms"),
        (
            lambda: DataArms("x", ("a",), [1.0], [1], gram=np.zeros((1, 2))),
            "`gram` must fit 1 arms",
        ),
        (
            lambda: DataArms("x", ("a",), [1.0], [1], coordinates=np.zeros((2, 1))),
            "`coordinates` must fit 1 arms",
        ),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("A,B\n1,2\n", "but found the first column 'A'."),
        ("Date\n2020-01-01\n2020-01-02\n", "but found no column of numbers."),
        ("Date,A,A\nd,1,2\n", "a header with the column 'A' 2 time(s)."),
        ("Date,A,\nd,1,2\n", "a header with the column '' 1 time(s)."),
        ("Date,A,B\nd,1,2\n\ne,1,x\n", "but found 'x', not a number, in line 4, column 'B'."),
        ("Date,A,B\nd,1,2\n", "but found one row, of which no covariance can be taken."),
        ("Date,A,B\nd,1,2\ne,1,3\n", "but found the same value in every row of column 'A'."),
    ],
)
def test_a_malformed_table_is_told_file_expectation_and_finding(tmp_path, text, finding):
    (tmp_path / "stocks.csv").write_text(text)
    with pytest.raises(DataFileError) as caught:
        load_stocks(tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'stocks.csv'}: expected a first column 'Date' and")
    assert finding in message


@pytest.mark.parametrize(
    ("load", "name"),
    [
        (load_stocks, "stocks.csv"),
        (load_light, "light_train.csv"),
        (load_latency, "latency.csv"),
        (load_claims, "claims.csv"),
    ],
)
def test_a_missing_file_is_named(tmp_path, load, name):
    with pytest.raises(DataFileError, match=f"{name}: expected .* but found no readable file"):
        load(tmp_path)


def write_light(
    folder, train="a,b\n1,5\n3,4\n", test="a,b\n7,9\n", coords="sensor,x,y\na,0,0\nb,1,2\n"
):
    (folder / "light_train.csv").write_text(train)
    (folder / "light_test.csv").write_text(test)
    (folder / "light_coords.csv").write_text(coords)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"test": "a,c\n7,9\n"}, r"light_test.csv: .* differ from those of light_train.csv: b, c"),
        ({"test": "b,a\n7,9\n"}, r"light_test.csv: .* light_train.csv: another order"),
        ({"coords": "sensor,x,y\na,0,0\n"}, "light_coords.csv: .* 0 rows for the sensor 'b'"),
        (
            {"coords": "sensor,x,y\na,0,0\nb,1,1\nb,1,1\n"},
            "light_coords.csv: .* 2 rows for the sensor 'b'",
        ),
        ({"coords": "sensor,x\na,0\n"}, "light_coords.csv: .* no column 'y' among 'sensor', 'x'"),
        ({"train": "a,b\n1,?\n3,4\n"}, r"light_train.csv: .* '\?', not a number, in line 2"),
    ],
)
def test_light_files_that_do_not_fit_together_are_told_so(tmp_path, files, message):
    write_light(tmp_path, **files)
    with pytest.raises(DataFileError, match=message):
        load_light(tmp_path)


def test_light_positions_are_matched_by_name(tmp_path):
    write_light(tmp_path, coords="sensor,x,y\nb,10,2\na,20,4\n")
    assert load_light(tmp_path).coordinates.tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_missing_latencies_are_left_out_and_counted(tmp_path):
    (tmp_path / "latency.csv").write_text("p,q\n0.5,NA\n1.5,0.25\n,nan\n")
    arms = load_latency(tmp_path)
    assert records(arms, 0).tolist() == [-0.5, -1.5]
    assert records(arms, 1).tolist() == [-0.25]
    assert arms.left_out == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p,q\n1,\n2,NaN\n", "but found no value in column 'q'"),
        ("p,q\n1,2\n1,-0.5\n", "but found -0.5 in line 3, column 'q'"),
        ("p,q\n1,2\n1,slow\n", "but found 'slow', not a number, in line 3, column 'q'"),
    ],
)
def test_impossible_latencies_are_refused(tmp_path, text, message):
    (tmp_path / "latency.csv").write_text(text)
    with pytest.raises(DataFileError, match=message):
        load_latency(tmp_path)


@pytest.mark.parametrize(
    ("by", "text", "message"),
    [
        ("ageph", "average\n1\n", "the columns 'average', 'ageph', but found no column 'ageph'"),
        ("ageph", "average,ageph\n1,20\n-2,20\n", "but found -2 in line 3, column 'average'"),
        ("ageph", "average,ageph\n1,20\n2,old\n", "'old', not a number, in line 3, column 'ageph'"),
        (
            "ageph",
            "average,ageph\n1,20\n2,30\n",
            "no ageph with min_count=2 rows; the largest has 1",
        ),
        ("postcode", "average,postcode,long\n1,20,4\n", "no column 'lat'"),
        (
            "postcode",
            "average,postcode,long,lat\n1,20,4,50\n1,20,5,50\n",
            "a second position for postcode 20 in line 3",
        ),
    ],
)
def test_impossible_claims_are_refused(tmp_path, by, text, message):
    (tmp_path / "claims.csv").write_text(text)
    with pytest.raises(DataFileError, match=message):
        load_claims(tmp_path, by=by, min_count=2)


def test_claims_options_are_checked(tmp_path):
    with pytest.raises(ValueError, match="`by` must be one of"):
        load_claims(tmp_path, by="power")
    with pytest.raises(ValueError, match="`min_count >= 1` must hold"):
        load_claims(tmp_path, min_count=0)


def test_the_stand_in_is_six_weekly_series_and_says_so():
    if importlib.util.find_spec("plotly") is None:
        pytest.skip("the extra stand-in is not installed")
    arms = load_stand_in_stocks()
    assert "stand-in" in arms.name
    assert arms.labels == ("GOOG", "AAPL", "AMZN", "FB", "NFLX", "MSFT")
    assert set(arms.counts) == {105}
    # Each series is divided by its first price.
    assert np.all(arms.values.reshape(6, 105)[:, 0] == 1.0)
    np.testing.assert_allclose(np.diagonal(arms.gram), 1.0)


def test_without_plotly_the_stand_in_names_its_extra(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tailproof\[stand-in\]'"):
        load_stand_in_stocks()


def test_the_stand_in_reads_without_importing_plotly():
    if importlib.util.find_spec("plotly") is None:
        pytest.skip("the extra stand-in is not installed")
    program = (
        "import sys; from tailproof.environments import load_stand_in_stocks; "
        "load_stand_in_stocks(); sys.exit('plotly' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
