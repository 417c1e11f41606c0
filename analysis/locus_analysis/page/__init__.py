# SPDX-License-Identifier: Apache-2.0
"""The report: sections of pictures and tables."""
