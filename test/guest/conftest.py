# SPDX-License-Identifier: Apache-2.0
"""The marker `guest` and its fixtures, which test/ports has, too."""

pytest_plugins = ["steps"]
