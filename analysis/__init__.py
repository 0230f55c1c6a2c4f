"""Drives the experiments and compares them with the paper; reads only what the program wrote."""
