"""The toolbox of people who work on ufsim: `.venv/bin/python -m tools NAME`, mostly called by make."""
