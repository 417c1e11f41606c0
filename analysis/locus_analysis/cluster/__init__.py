# SPDX-License-Identifier: Apache-2.0
"""The nodes of a cluster: which of them is sick."""
