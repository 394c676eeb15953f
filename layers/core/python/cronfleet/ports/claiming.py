"""How many claims a store is asked for together."""

from typing import Final

CLAIMS_AT_ONCE: Final = 25
"""Claims of one request, where a store takes several: who has more asks for them in parts of so many."""
