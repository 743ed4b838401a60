"""Campaigns: random problems in bulk against oracles that share no code with the package.

    python -m tests.campaign units --count 300
    python -m tests.campaign fitted --count 2000

`units` multiplies rows and columns by powers of ten and compares every limit with one of 60 digits;
`fitted` asks of certified limits at scales from 1e-12 to 1e12 whether they fit the data. A sample
of both is part of the test suite.
"""
