"""scripts/compare-dynamic: times computed scales beside libraries that are called from Python.

Start at __main__.py: cases.py has the cases, libraries.py runs them in other libraries, dynquant.py in dqbench.
"""
