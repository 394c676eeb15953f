"""`python -m cronfleet_cli`, as `cronfleet`."""

from cronfleet_cli.main import main

main()
