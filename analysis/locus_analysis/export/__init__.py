# SPDX-License-Identifier: Apache-2.0
"""Records for other tools and other people: formats.py is the table of what export writes."""
