import tailproof as tp
from tailproof.plot.record import grid, record_of
from tailproof.search.space.parameters import Float, Int
from tailproof.search.space.space import Space


def test_slices_look_at_every_value_there_is():
    space = Space(a=Int(1, 5, log=True), b=Float(0, 1, step=0.25), c=Float(0, 1), d=Int(0, 10**6))
    assert grid(space, "a") == [1, 2, 3, 4, 5]
    assert grid(space, "b") == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert grid(space, "c")[0] == 0.0
    assert grid(space, "c")[-1] == 1.0
    assert grid(space, "d")[-1] == 10**6


def test_the_record_knows_which_payoffs_confirm():
    result = tp.minimize(
        lambda x: (x - 0.3) ** 2, tp.Space(x=tp.Float(0, 1)), 20, confirm=0.2, progress=False
    )
    assert record_of(result).searched == 16
    result.optimizer.resume_search()
    assert record_of(result).searched is None
