# SPDX-License-Identifier: Apache-2.0
"""Tables of `locus list BENCHMARK`, which are wrapped for a terminal, with a line for each row."""

import re

CONTINUED = " " * 21


def unwrapped(text: str) -> str:
    return re.sub(rf"\n{CONTINUED}", " ", re.sub(rf"(?<=\|)\n{CONTINUED}", "", text))
