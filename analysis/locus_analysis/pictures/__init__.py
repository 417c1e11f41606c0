# SPDX-License-Identifier: Apache-2.0
"""Pictures of any rows, in Vega-Lite, and their files."""
