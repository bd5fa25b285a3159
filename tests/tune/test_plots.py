import xml.etree.ElementTree as ET

from tailproof.tune import plots


def test_every_plot_is_well_formed_and_holds_no_script(analysis, real_pictures):
    drawn = plots.pictures(analysis)
    assert drawn.keys() == set(plots.NAMES) - {"seconds"}
    for svg in drawn.values():
        root = ET.fromstring(svg)
        assert root.tag.endswith("svg")
        assert not [element for element in root.iter() if element.tag.endswith("script")]
