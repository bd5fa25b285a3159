import pytest

from tailproof.search.space.parameters import Int
from tailproof.search.space.space import Space
from tailproof.tune.space_file import build, take_flags
from tailproof.tune.study import (
    Identity,
    constants,
    distributions,
    open_storage,
    open_study,
    opened_storage,
)
from tailproof.tune.urls import file_url

optuna = pytest.importorskip("optuna", reason="`tailproof tune` keeps its trials in Optuna")

SPACE = Space(n=Int(0, 9))


def identity(command=("p", "{n}"), space=SPACE, value="last-line", minimize=True, stream="stdout"):
    return Identity(command, space.state(), value, minimize, stream)


@pytest.fixture
def storage(tmp_path):
    with opened_storage(file_url(tmp_path / "a {b} %20 é" / "study.db")) as storage:
        yield storage


def test_the_file_is_where_it_was_asked_for(storage, tmp_path):
    assert (tmp_path / "a {b} %20 é" / "study.db").is_file()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"command": ("q", "{n}")}, "another command"),
        ({"space": Space(n=Int(0, 8))}, "another space"),
        ({"value": "wall-time"}, "another value"),
        ({"stream": "stderr"}, "another read"),
        ({"minimize": False}, "another direction"),
    ],
)
def test_a_study_of_something_else_is_refused(storage, changed, said):
    open_study(storage, "mine", identity(), None)
    open_study(storage, "mine", identity(), None)
    with pytest.raises(ValueError, match=said) as caught:
        open_study(storage, "mine", identity(**changed), None)
    assert "\n" not in str(caught.value)
    assert identity(**changed).name() != identity().name()


def test_the_order_of_the_parameters_is_no_part_of_a_study(storage):
    one = identity(space=Space(n=Int(0, 9), m=Int(0, 5)))
    other = identity(space=Space(m=Int(0, 5), n=Int(0, 9)))
    assert one.name() == other.name()
    open_study(storage, "mine", one, None)
    open_study(storage, "mine", other, None)


def test_a_foreign_study_is_refused(storage):
    study = optuna.create_study(storage=storage, study_name="theirs")
    study.optimize(lambda trial: trial.suggest_int("n", 0, 9), n_trials=1)
    with pytest.raises(ValueError, match="not made by tailproof tune"):
        open_study(storage, "theirs", identity(), None)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://me:hush-hush@localhost:1/db",
        "postgresql+psycopg://localhost:1/db?user=me&password=hush-hush",
        "mysql+nothing://me:hush-hush@host/db",
        "nonsense hush-hush",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:////proc/nowhere/study.db",
        "redis://me:hush-hush@localhost",
    ],
)
def test_a_storage_that_cannot_be_opened_is_one_line_without_secrets(url):
    with pytest.raises(ValueError, match="cannot open the storage") as caught:
        open_storage(url)
    assert "hush" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_distributions_reach_every_value_of_the_space():
    flags, _ = take_flags(
        [
            *("--float", "f", "0", "1", "--step", "0.3", "--int", "i", "1", "10", "--step", "4"),
            *("--choice", "c", "a", "b", "--fixed", "k", "v"),
        ],
        [],
    )
    space = build(None, flags)
    made = distributions(space)
    assert made["f"].high == 0.9
    assert made["i"].high == 9
    assert made["c"].choices == ("a", "b")
    assert "k" not in made
    assert constants(space) == {"k": "v"}
