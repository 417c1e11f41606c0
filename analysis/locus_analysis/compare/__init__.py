# SPDX-License-Identifier: Apache-2.0
"""Two sides of runs, or a run and what is expected of it."""
