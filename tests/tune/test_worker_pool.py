import contextlib
import multiprocessing
import sqlite3

from tailproof.search.space.parameters import Int
from tailproof.search.space.space import Space
from tailproof.tune.request import Request, prepare
from tailproof.tune.signals import Stop
from tailproof.tune.worker import End
from tailproof.tune.worker_pool import WorkerPool


def requested(command, out, evaluations):
    """Return a request for two workers."""
    return Request(
        command=(*command, "{n}"),
        space=Space(n=Int(1, 9)),
        minimize=True,
        evaluations=evaluations,
        workers=2,
        out=out,
    )


def test_workers_that_died_after_an_interrupt_were_interrupted(program, tmp_path):
    request = requested(program("print(1)"), tmp_path / "o", evaluations=40)
    pool = WorkerPool(prepare(request), 2, lambda event: None)
    for worker in multiprocessing.active_children():
        worker.kill()
    assert pool.run(lambda: Stop.YES) is End.INTERRUPTED


def test_workers_that_still_start_are_not_waited_for(program, tmp_path):
    request = requested(program("print(1)"), tmp_path / "o", evaluations=40)
    job = prepare(request)
    # While the file is locked, no worker gets beyond opening its study.
    with contextlib.closing(sqlite3.connect(request.out / "study.db", timeout=300.0)) as file:
        file.execute("BEGIN IMMEDIATE")
        pool = WorkerPool(job, 2, lambda event: None)
        assert pool.run(lambda: Stop.YES) is End.INTERRUPTED  # though it is locked
    assert not multiprocessing.active_children()


def test_programs_get_the_environment_of_the_command_not_of_the_first_pool(
    program, tmp_path, monkeypatch
):
    seen = []
    for value in ("1", "2"):
        monkeypatch.setenv("WHICH", value)
        command = program("import os; print(os.environ['WHICH'])")
        request = requested(command, tmp_path / value, evaluations=3)
        pool = WorkerPool(prepare(request), 2, seen.append)
        assert pool.run(lambda: Stop.NO) is End.COMPLETE
    values = [event.value for event in seen if event.kind == "end"]
    assert values == [1.0] * 3 + [2.0] * 3
