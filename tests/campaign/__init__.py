"""Campaigns: random problems in bulk against oracles that share no code with the package.

    python -m tests.campaign units --count 300
    python -m tests.campaign fitted --count 2000
    python -m tests.campaign proofs --count 200
    python -m tests.campaign proofs --gaussian

`units` multiplies rows and columns by powers of ten and compares every limit with one of 60 digits;
`fitted` asks of certified limits at scales from 1e-12 to 1e12 whether they fit the data; `proofs`
proves limits at scales from 10^-1000 to 10^6 and holds them against oracles, a checker that shares
no code, proofs to more digits and float64. A sample of all is part of the test suite.
"""
