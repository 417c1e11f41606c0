# SPDX-License-Identifier: Apache-2.0
"""Tables, pictures and reports from the records that locus writes."""
