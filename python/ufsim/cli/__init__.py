"""The command line `ufsim`: app.py declares the commands; larger ones have a file of their own."""
