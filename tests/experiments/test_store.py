"""The directory of a run: whole files or none, and only the run that made it."""

import json
import stat

import pytest

from tailproof.experiments import store
from tailproof.experiments.plan import Plan


def record(task, value=0.25):
    return {"regret_per_round": [value] * len(task.marks), "seconds": 1.0}


def test_a_trial_comes_back_to_the_last_bit(tmp_path, small_plan):
    task = next(small_plan.tasks())
    kept = record(task, 0.1 + 0.2)
    store.write_trial(tmp_path, task, kept)
    assert store.read_trial(tmp_path, task) == kept
    path = store.trial_path(tmp_path, task.name)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_finished_trials_and_the_rest_are_told_apart(tmp_path, small_plan):
    tasks = list(small_plan.tasks())
    store.write_trial(tmp_path, tasks[1], record(tasks[1]))
    finished, todo = store.split(tmp_path, tasks)
    assert list(finished) == [tasks[1].name]
    assert [task.name for task in todo] == [task.name for task in tasks if task is not tasks[1]]


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"regret_per_round": [0.5]}', b'{"regret_per_round": null}']
)
def test_a_damaged_trial_counts_as_not_run(tmp_path, small_plan, damage):
    task = next(small_plan.tasks())
    store.write_bytes(store.trial_path(tmp_path, task.name), damage)
    assert store.read_trial(tmp_path, task) is None


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "kept.json"
    store.write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        store.write_json(path, {"a": object()})
    with pytest.raises(TypeError):
        store.write_bytes(path, "text")
    assert json.loads(path.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_a_directory_opens_again_for_the_same_plan(tmp_path, small_plan):
    out = tmp_path / "new" / "out"
    with store.opened(out, small_plan):
        left = out / f"{store.UNFINISHED}x"
        left.write_text("half")
    before = (out / store.MANIFEST).read_bytes()
    with store.opened(out, small_plan):
        assert not left.exists()
    assert (out / store.MANIFEST).read_bytes() == before


def test_another_plan_is_refused_by_naming_the_difference(tmp_path, small_plan):
    with store.opened(tmp_path, small_plan):
        pass
    other = Plan(small_plan.panels, small_plan.seed + 1)
    message = "seed is 3 there, 4 here"
    with pytest.raises(store.DirectoryMismatchError, match=message), store.opened(tmp_path, other):
        pass
    fewer = Plan(small_plan.panels[:1], small_plan.seed)
    message = "panels.f is missing here"
    with pytest.raises(store.DirectoryMismatchError, match=message), store.opened(tmp_path, fewer):
        pass


def test_trials_of_unknown_origin_are_not_built_on(tmp_path, small_plan):
    (tmp_path / store.TRIALS).mkdir()
    with (
        pytest.raises(store.DirectoryMismatchError, match=r"no manifest\.json"),
        store.opened(tmp_path, small_plan),
    ):
        pass


def test_a_manifest_that_is_not_json_is_refused(tmp_path, small_plan):
    (tmp_path / store.MANIFEST).write_text("no")
    with (
        pytest.raises(store.DirectoryMismatchError, match="not JSON"),
        store.opened(tmp_path, small_plan),
    ):
        pass


def test_two_runs_cannot_share_a_directory_at_once(tmp_path, small_plan):
    pytest.importorskip("fcntl", reason="no such locks on this system")
    with (
        store.opened(tmp_path, small_plan),
        pytest.raises(ValueError, match="another process is at work"),
        store.opened(tmp_path, small_plan),
    ):
        pass
    with store.opened(tmp_path, small_plan):
        pass
