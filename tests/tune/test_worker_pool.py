import multiprocessing

from tailproof.search.space.parameters import Int
from tailproof.search.space.space import Space
from tailproof.tune.request import Request, prepare
from tailproof.tune.signals import Stop
from tailproof.tune.worker import End
from tailproof.tune.worker_pool import WorkerPool


def test_workers_that_died_after_an_interrupt_were_interrupted(program, tmp_path):
    request = Request(
        command=(*program("print(1)"), "{n}"),
        space=Space(n=Int(1, 9)),
        minimize=True,
        evaluations=40,
        workers=2,
        out=tmp_path / "o",
    )
    pool = WorkerPool(prepare(request), 2, lambda event: None)
    for worker in multiprocessing.active_children():
        worker.kill()
    assert pool.run(lambda: Stop.YES) is End.INTERRUPTED
