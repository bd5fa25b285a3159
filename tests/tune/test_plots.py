import xml.etree.ElementTree as ET

from tailproof.tune import plots


def test_every_plot_is_well_formed_and_holds_no_script(analysis):
    for draw in (plots.convergence, plots.slices, plots.payoffs_by_parameter):
        root = ET.fromstring(draw(analysis))
        assert root.tag.endswith("svg")
        assert not [element for element in root.iter() if element.tag.endswith("script")]
