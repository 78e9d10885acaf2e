"""Does host memory for the mapping pay on devices of today?"""
