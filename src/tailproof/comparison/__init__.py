"""Compare the mean payoffs of alternatives from measurements that exist already.

`compare` (also `tailproof.compare`) takes arrays, a mapping or a data frame, `compare_files` files;
`tailproof compare` is the latter on the command line. The intervals are practical, their coverage
is measured in docs/compare.md.
"""

from typing import TYPE_CHECKING

from tailproof._util import lazy

if TYPE_CHECKING:
    from tailproof.comparison.analysis import compare, compare_files
    from tailproof.comparison.results import Alternative, Comparison, Effect

__all__ = ["Alternative", "Comparison", "Effect", "compare", "compare_files"]

__getattr__, __dir__ = lazy.attach(__name__, ("results", "analysis"), __all__)
