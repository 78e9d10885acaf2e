"""The command line `ufsim`: a file for each command."""
