# SPDX-License-Identifier: Apache-2.0
"""What trials tell: levels of cache, padding, claims, counters. Numbers and words, no pictures."""
