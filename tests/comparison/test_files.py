"""Files to compare: tables with blocks, Parquet, and what benchmark files are matched to."""

import json

import numpy as np
import pytest

from tailproof.comparison.benchmark_files import (
    benchmark_samples,
    file_labels,
    read_benchmark_file,
)
from tailproof.comparison.files import read_samples


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def hyperfine(path, **times):
    results = [{"command": name, "times": list(values)} for name, values in times.items()]
    return write(path, json.dumps({"results": results}))


def names(samples):
    return [series.name for series in samples.series]


def test_blocks_are_coded_across_alternatives(tmp_path):
    path = write(tmp_path / "p.csv", "arm,day,y\na,mon,1\nb,mon,2\nb,tue,3\na,tue,4\na,wed,5\n")
    (found,) = read_samples([path], by="arm", value="y", block="day")
    assert names(found) == ["a", "b"]
    assert [series.values.tolist() for series in found.series] == [[1.0, 4.0, 5.0], [2.0, 3.0]]
    assert [codes.tolist() for codes in found.blocks] == [[0, 1, 2], [0, 1]]


def test_the_block_column_of_a_wide_table_is_no_alternative(tmp_path):
    path = write(tmp_path / "p.csv", "a,day,b\n1,7,2\n3,8,4\n")
    (found,) = read_samples([path], block="day")
    assert names(found) == ["a", "b"]
    assert [codes.tolist() for codes in found.blocks] == [[0, 1], [0, 1]]
    (plain,) = read_samples([path])
    assert names(plain) == ["a", "day", "b"]


def test_parquet_says_the_same_as_csv(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    columns = {"arm": ["a", "b", "a", "b"], "day": [1, 1, 2, 2], "y": [1.0, 2.0, 3.0, 4.0]}
    parquet.write_table(arrow.table(columns), tmp_path / "p.parquet")
    rows = "".join(f"{a},{d},{y}\n" for a, d, y in zip(*columns.values(), strict=True))
    csv = write(tmp_path / "p.csv", "arm,day,y\n" + rows)
    for path in (csv, tmp_path / "p.parquet"):
        (found,) = read_samples([path], by="arm", value="y", block="day")
        assert [s.values.tolist() for s in found.series] == [[1.0, 3.0], [2.0, 4.0]]
        assert [codes.tolist() for codes in found.blocks] == [[0, 1], [0, 1]]


def test_large_payoffs_are_read(tmp_path):
    (found,) = read_samples([write(tmp_path / "p.csv", "a,b\n1e150,1\n2,3\n")])
    assert found.series[0].values.max() == 1e150


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "arm", "block": "arm"}, "a column of its own"),
        ({"by": "arm", "block": "week"}, "the block must be a column"),
    ],
)
def test_wrong_block_columns_are_named(tmp_path, options, message):
    path = write(tmp_path / "p.csv", "arm,y\na,1\n")
    with pytest.raises(ValueError, match=message):
        read_samples([path], **options)


def test_several_tables_need_one_column_each(tmp_path):
    one = write(tmp_path / "one.csv", "y,z\n1,2\n")
    two = write(tmp_path / "two.csv", "y\n1\n")
    with pytest.raises(ValueError, match="`value` must name the column"):
        read_samples([one, two])
    (found,) = read_samples([one, two], value="y")
    assert names(found) == ["one", "two"]
    with pytest.raises(ValueError, match="need one table"):
        read_samples([one, two], by="y")
    with pytest.raises(ValueError, match="at least one file"):
        read_samples([])


def test_files_of_one_command_each_are_alternatives(tmp_path):
    old, new = (hyperfine(tmp_path / f"{n}.json", **{n: [1.0, 2.0]}) for n in ("old", "new"))
    (found,) = benchmark_samples([read_benchmark_file(path) for path in (old, new)])
    assert (found.title, names(found), found.kind) == ("", ["old", "new"], "time")


def test_files_of_several_commands_are_matched_by_name(tmp_path):
    old = hyperfine(tmp_path / "old.json", x=[1, 2], y=[3, 4], gone=[1])
    new = hyperfine(tmp_path / "new.json", y=[5, 6], x=[7, 8])
    found = benchmark_samples([read_benchmark_file(path) for path in (old, new)])
    assert [s.title for s in found] == ["x", "y"]
    assert found[0].series[1].values.tolist() == [7.0, 8.0]
    assert found[0].notes == ["left out, not in every file: 'gone'"]
    other = hyperfine(tmp_path / "other.json", a=[1], b=[2])
    with pytest.raises(ValueError, match="a benchmark in common"):
        benchmark_samples([read_benchmark_file(path) for path in (old, other)])


def test_groups_of_one_pytest_benchmark_file_are_compared_apart(tmp_path):
    entries = [
        {"fullname": name, "group": group, "stats": {"data": [1.0, 2.0]}}
        for name, group in [("a", "g"), ("b", "g"), ("c", None), ("d", "h"), ("e", "h")]
    ]
    path = write(tmp_path / "b.json", json.dumps({"benchmarks": entries}))
    found = benchmark_samples([read_benchmark_file(path)])
    assert [(s.title, names(s)) for s in found] == [("g", ["a", "b"]), ("h", ["d", "e"])]


def test_failed_runs_are_noted(tmp_path):
    entry = {"command": "x", "times": [1.0, 2.0], "exit_codes": [0, 1]}
    path = write(tmp_path / "h.json", json.dumps({"results": [entry]}))
    assert read_benchmark_file(path).notes == [
        f"{path}: 1 runs of 'x' failed; their times are included"
    ]


def test_equal_file_names_are_told_apart_by_their_paths(tmp_path):
    paths = [tmp_path / "a" / "b.json", tmp_path / "c" / "b.json"]
    assert file_labels(paths) == [str(path) for path in paths]
    with pytest.raises(ValueError, match="must be distinct"):
        file_labels([paths[0], paths[0]])


def test_fixtures_hold_the_times_that_the_tools_wrote():
    from pathlib import Path

    folder = Path(__file__).parent / "data"
    times = read_benchmark_file(folder / "hyperfine_before.json").times
    assert [t.size for t in times.values()] == [25]
    times = read_benchmark_file(folder / "pytest_before.json").times
    assert [t.size for t in times.values()] == [60, 60, 60]
    assert all(np.all(t > 0.0) for t in times.values())
