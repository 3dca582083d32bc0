"""Prints whether CPython's JIT is built in and enabled (sys._jit since 3.14, else the build's flags)."""

import sys
import sysconfig

jit = getattr(sys, "_jit", None)
if sys.implementation.name == "pypy":
    print("null PyPy has a JIT of its own, always on")
elif jit:
    print("available", jit.is_available())
    print("enabled", jit.is_enabled())
else:
    print("available", "--enable-experimental-jit" in (sysconfig.get_config_var("CONFIG_ARGS") or ""))
