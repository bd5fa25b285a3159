import sys

import pytest

import tailproof as tp
from searches import LINE, MIXED, run
from tailproof.search.views import to_rows

ODD = tp.Space({"<x>": tp.Float(0, 1), "value": tp.Choice("<script>", "b")})


def odd_search():
    opt = tp.Optimizer(ODD, baseline={"<x>": 0.5, "value": "<script>"})
    for trial in opt.ask(6):
        opt.tell(trial, trial.params["<x>"])
    opt.fail(opt.ask(), "it <failed>")
    opt.withdraw(opt.ask())
    opt.ask()
    return opt


def test_rows_have_every_trial_with_its_state():
    rows = to_rows(odd_search())
    states = [row["state"] for row in rows]
    assert states == ["complete"] * 6 + ["failed", "withdrawn", "pending"]
    assert rows[6]["reason"] == "it <failed>"
    assert rows[0]["value"] == rows[0]["<x>"] == 0.5
    assert rows[0]["params_value"] == "<script>"  # a column of that name is there already
    assert to_rows(tp.Optimizer(LINE)) == []


def test_notebooks_see_tables_in_which_everything_is_escaped():
    opt = odd_search()
    for html in (opt._repr_html_(), opt.recommend()._repr_html_()):
        assert "<script>" not in html
        assert "<x>" not in html
        assert "&lt;script&gt;" in html
        assert html.count("<table>") == html.count("</table>") > 0
        assert "baseline" in html
    assert "0 payoffs" in tp.Optimizer(LINE)._repr_html_()
    result = tp.minimize(lambda x: x, LINE, 12, progress=False)
    assert "recommended" in result._repr_html_()


def test_frames_need_pandas_and_say_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    opt = tp.Optimizer(LINE)
    run(opt, 2, lambda p, i: 1.0)
    with pytest.raises(ImportError, match=r"pip install 'tailproof\[frame\]'"):
        opt.to_frame()


def test_frames_have_a_row_a_trial():
    pytest.importorskip("pandas", reason="to_frame makes a pandas table")
    opt = tp.Optimizer(MIXED)
    run(opt, 10)
    frame = opt.to_frame()
    assert list(frame.columns) == [
        *("number", "state", "value", "clipped", "reason"),
        *("lr", "n", "act", "k"),
    ]
    assert frame["value"].tolist() == [done.value for done in opt.trials]
    assert len(tp.maximize(lambda x: x, LINE, 12, progress=False).to_frame()) == 12
