# SPDX-License-Identifier: Apache-2.0
"""The card of a machine, and the summary."""
