# SPDX-License-Identifier: Apache-2.0
"""Against assertions about nothing: `all` and `for` are content with an empty list. test/vacuous
looks where this is missing."""

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def some(things: Iterable[T]) -> list[T]:
    """The things, of which there must be one at least: assert all(is_good(x) for x in
    some(found))."""
    found = list(things)
    assert found, "there is nothing to look at: what was to be checked is an empty list"
    return found
