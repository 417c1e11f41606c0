# SPDX-License-Identifier: Apache-2.0
# Of what make prints, the lines for people: those of test/driver and test/total, and below a
# failure, why.
/^(ok   |FAIL |skip |lane ) [a-z]+:? /p
/^   > /p
