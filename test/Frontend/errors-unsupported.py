# Python that is not part of the language: one message each, all of a function's in one run.
# RUN: not %tessera compile %s::everything --arg x=fp32[2] --emit graph 2>&1 | FileCheck %s
import tessera as tsr

@tsr.function
def everything(x, *args, **kwargs):
    import os
    global counter
    del x
    with x as y:
        pass
    try:
        pass
    except ValueError:
        pass
    class Inner:
        pass
    def inner():
        pass
    raise ValueError
    async for i in x:
        pass
    match x:
        case 1:
            pass
    a = lambda: 0
    b = [i for i in range(3)]
    c = {"k": 1}
    d = f"{x}"
    e = (z := 3)
    f = tsr.sum(*x)
    g = 2j
    yield x
    return x

# CHECK: [[#@LINE-30]]:20: error: a '*' parameter is not supported in a @tsr.function; name each parameter
# CHECK: error: a '**' parameter is not supported
# CHECK: error: an import is not supported in a @tsr.function; import at the top of the file
# CHECK: error: 'global' is not supported in a @tsr.function; return the new value instead
# CHECK: error: 'del' is not supported
# CHECK: error: 'with' is not supported
# CHECK: error: 'try' is not supported
# CHECK: error: a class is not supported
# CHECK: error: a nested function is not supported in a @tsr.function; define it outside with @tsr.function
# CHECK: error: 'raise' is not supported in a @tsr.function; use 'assert' to check a static value
# CHECK: error: 'async' is not supported
# CHECK: error: 'match' is not supported in a @tsr.function; write 'if' on static values
# CHECK: error: 'lambda' is not supported
# CHECK: error: a list comprehension is not supported
# CHECK: error: a dict is not supported
# CHECK: error: an f-string is not supported
# CHECK: error: ':=' is not supported
# CHECK: error: a '*' argument is not supported
# CHECK: error: a complex number is not supported
# CHECK: error: 'yield' is not supported
# CHECK: 20 errors generated
