"""Compiled inner loops: plain functions on float64 arrays, no checks, nothing kept between calls.

numba compiles each once and caches the result beside the source (or in NUMBA_CACHE_DIR).
numba does not notice a change in a function of another module, so functions that call each other
stay in one module.
"""
