# SPDX-License-Identifier: Apache-2.0
"""Reads, checks and exports records."""

from .sources import BadInput as BadInput
