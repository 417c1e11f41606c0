# SPDX-License-Identifier: Apache-2.0
"""Keeps assertions from holding of an empty list, with which `all` and `for` are content.
test/vacuous finds where it is missing."""

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def some(things: Iterable[T]) -> list[T]:
    """A list of the things, which must not be empty: assert all(is_good(x) for x in
    some(found))."""
    found = list(things)
    assert found, "there is nothing to look at: what was to be checked is an empty list"
    return found
