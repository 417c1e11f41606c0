# SPDX-License-Identifier: Apache-2.0
# Keeps the lines of make's output that are for people: those of test/driver and test/total, and the
# reasons below a failure.
/^(ok   |FAIL |skip |lane ) [a-z]+:? /p
/^   > /p
