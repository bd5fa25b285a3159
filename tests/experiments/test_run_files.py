"""The output folder holds whole files of one plan, and one process at a time works in it."""

import pytest

from tailproof._util.files import TEMPORARY_PREFIX, write_bytes
from tailproof.experiments import run_files
from tailproof.experiments.plan import Plan


def record(task, value=0.25):
    return {"regret_per_round": [value] * len(task.panel.recorded_rounds), "seconds": 1.0}


def test_a_run_comes_back_to_the_last_bit(tmp_path, small_plan):
    task = next(small_plan.tasks())
    kept = record(task, 0.1 + 0.2)
    run_files.write_run(tmp_path, task, kept)
    assert run_files.read_run(tmp_path, task) == kept


def test_finished_runs_are_separated_from_those_to_do(tmp_path, small_plan):
    tasks = list(small_plan.tasks())
    run_files.write_run(tmp_path, tasks[1], record(tasks[1]))
    finished, todo = run_files.read_finished(tmp_path, tasks)
    assert list(finished) == [tasks[1].name]
    assert [task.name for task in todo] == [task.name for task in tasks if task is not tasks[1]]


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"regret_per_round": [0.5]}', b'{"regret_per_round": null}']
)
def test_a_damaged_file_counts_as_not_run(tmp_path, small_plan, damage):
    task = next(small_plan.tasks())
    write_bytes(run_files.run_path(tmp_path, task.name), damage)
    assert run_files.read_run(tmp_path, task) is None


def test_a_folder_opens_again_for_the_same_plan(tmp_path, small_plan):
    out = tmp_path / "new" / "out"
    with run_files.open_folder(out, small_plan.manifest()):
        left = out / f"{TEMPORARY_PREFIX}x"
        left.write_text("half")
    before = (out / run_files.MANIFEST).read_bytes()
    with run_files.open_folder(out, small_plan.manifest()):
        assert not left.exists()
    assert (out / run_files.MANIFEST).read_bytes() == before


def test_another_plan_is_refused_by_naming_the_difference(tmp_path, small_plan):
    with run_files.open_folder(tmp_path, small_plan.manifest()):
        pass
    other = Plan(small_plan.panels, small_plan.seed + 1)
    message = "seed is 3 there, 4 here"
    with (
        pytest.raises(run_files.FolderMismatchError, match=message),
        run_files.open_folder(tmp_path, other.manifest()),
    ):
        pass
    fewer = Plan(small_plan.panels[:1], small_plan.seed)
    message = "panels.f is missing here"
    with (
        pytest.raises(run_files.FolderMismatchError, match=message),
        run_files.open_folder(tmp_path, fewer.manifest()),
    ):
        pass


def test_runs_without_a_manifest_are_not_continued(tmp_path, small_plan):
    (tmp_path / run_files.RUNS).mkdir()
    with (
        pytest.raises(run_files.FolderMismatchError, match=r"no manifest\.json"),
        run_files.open_folder(tmp_path, small_plan.manifest()),
    ):
        pass


def test_a_manifest_that_is_not_json_is_refused(tmp_path, small_plan):
    (tmp_path / run_files.MANIFEST).write_text("no")
    with (
        pytest.raises(run_files.FolderMismatchError, match="not JSON"),
        run_files.open_folder(tmp_path, small_plan.manifest()),
    ):
        pass


def test_two_processes_cannot_work_in_one_folder(tmp_path, small_plan):
    pytest.importorskip("fcntl", reason="no such locks on this system")
    with (
        run_files.open_folder(tmp_path, small_plan.manifest()),
        pytest.raises(ValueError, match="another process works in it"),
        run_files.open_folder(tmp_path, small_plan.manifest()),
    ):
        pass
    with run_files.open_folder(tmp_path, small_plan.manifest()):
        pass
