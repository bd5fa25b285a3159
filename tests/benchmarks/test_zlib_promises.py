"""A repetition of the zlib tune checks its promises on new texts."""

import zlib_promises


def test_a_repetition_has_a_row_with_what_was_promised_and_what_was_found():
    row = dict(zip(zlib_promises.HEADER, zlib_promises.repetition(3, 12, 30), strict=True))
    assert row["better"] in ("yes", "no")
    level, memory, window, strategy = row["recommended"].split()
    content = zlib_promises.text("check 3 0")
    assert content == zlib_promises.text("check 3 0") != zlib_promises.text("check 3 1")
    size = zlib_promises.share(content, int(level), int(memory), int(window), strategy)
    assert 20.0 < size < 90.0
