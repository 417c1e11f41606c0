# SPDX-License-Identifier: Apache-2.0
"""Needs no records: folders, processes, streams, values as text."""
