# SPDX-License-Identifier: Apache-2.0
"""Undoes the wrapping of `locus list BENCHMARK`, so that each row of its tables is one line."""

import re

CONTINUED = " " * 21


def unwrapped(text: str) -> str:
    return re.sub(rf"\n{CONTINUED}", " ", re.sub(rf"(?<=\|)\n{CONTINUED}", "", text))
