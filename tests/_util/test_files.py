"""Atomic writes: a failure leaves the old file and nothing else, and the umask decides the mode."""

import json
import os
import re
import stat

import pytest

from tailproof._util.files import file_name, write_bytes, write_json


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "kept.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    with pytest.raises(TypeError):
        write_bytes(path, "text")
    assert json.loads(path.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_permissions_follow_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_bytes(tmp_path / "new" / "file", b"content")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new" / "file").stat().st_mode) == 0o666 & ~umask


def test_infinities_are_written_as_text(tmp_path):
    write_json(tmp_path / "x.json", {"a": [float("inf"), float("nan"), 1.5]})
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": ["inf", "nan", 1.5]}


ODD_NAMES = [
    *("../../../escaped", "/etc/passwd", "..", ".", "", ".hidden", "a/b", "a_b", "a\\b", "a b"),
    *("nul\0", "line\n", "é", "\ud800", "x" * 300, "x" * 301, "C:"),
]


def test_any_text_gives_one_plain_component_of_a_path_and_no_two_the_same():
    names = [file_name(text) for text in ODD_NAMES]
    for name in names:
        assert re.fullmatch(r"(?!\.)[A-Za-z0-9_.-]{1,100}", name)
    assert len(set(names)) == len(names)
    assert file_name("study-1.2") == "study-1.2"
