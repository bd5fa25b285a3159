"""A diagnosis as a table and a sentence."""

import numpy as np

from tailproof.tails import diagnose


def test_table_has_a_line_for_every_arm_and_one_for_all():
    lines = diagnose(np.random.default_rng(16).standard_normal((100, 4))).table().splitlines()
    assert len(lines) == 1 + 4 + 1
    assert lines[-1].startswith("all 4 arms")


def test_table_of_many_arms_says_what_it_leaves_out():
    text = diagnose(np.random.default_rng(17).standard_normal((40, 45))).table()
    assert "(5 more arms are in the JSON)" in text


def test_sentence_says_verdict_index_and_advice():
    found = diagnose(np.random.default_rng(18).standard_t(2.5, 5_000))
    assert found.sentence.startswith("Heavy-tailed: shape")
    assert "tail index" in found.sentence
    assert f"alpha = {found.advice.alpha:g}" in found.sentence
