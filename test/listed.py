# SPDX-License-Identifier: Apache-2.0
"""Undoes the wrapping of `locus list BENCHMARK`, so that each row of its tables is one line."""

import re

CONTINUED = " " * 21


def unwrapped(text: str) -> str:
    # a line that ends within a list of choices, or within a list of values that fills a line
    within = rf"(\||\S,\S+,)\n{CONTINUED}"
    return re.sub(rf"\n{CONTINUED}", " ", re.sub(within, r"\1", text))
