import os
import stat

from tailproof.tune.export import result, write_csv


def test_the_true_mean_is_exported_where_it_is_known(analysis):
    exported = result(analysis, {"name": "s"}, lambda params: 7.0)
    assert exported["recommendation"]["true_mean"] == exported["best_observed"]["true_mean"] == 7.0
    assert "true_mean" not in result(analysis, {"name": "s"})["recommendation"]


def test_files_have_the_permissions_that_the_umask_leaves(analysis, tmp_path):
    before = os.umask(0o027)
    try:
        write_csv(
            analysis.trials, analysis.space, analysis.clipped_by_number, tmp_path / "trials.csv"
        )
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "trials.csv").stat().st_mode) == 0o640
