"""How the API function starts."""

import gc
import sys

from functions.api import handler


def test_what_the_api_has_imported_is_left_out_of_what_the_collector_looks_through() -> None:
    """And it works again, whoever imported the function."""
    assert handler.__name__ in sys.modules
    assert gc.isenabled()
    assert gc.get_freeze_count() > 50_000
