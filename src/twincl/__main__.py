"""`python -m twincl` is the command line."""

from twincl.cli import main

main()
