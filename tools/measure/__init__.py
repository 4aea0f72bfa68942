"""scripts/measure SUITE: times dynquant beside other libraries, prints tables, and keeps figures and draws charts on request.

Start at __main__.py, which needs no packages: it reads the arguments (arguments.py has the suites and what each needs),
installs, builds and starts run.py. A file of suites/ has the cases of one suite, how they run, and its tables. turns.py
times, results.py keeps the figures of a processor, tables.py and charts.py write.
"""
