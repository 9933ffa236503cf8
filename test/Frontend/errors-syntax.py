# Several syntax errors in one run.
# RUN: not %tessera compile %s --emit graph 2>&1 | FileCheck %s
import tessera as tsr

@tsr.function
def f(x)
    y = (x + 
    return y

# CHECK: errors-syntax.py:[[#@LINE-4]]:9: error: expected ':' after the function's head
# CHECK-NEXT: def f(x)
# CHECK-NEXT: {{\|         \^$}}
# CHECK: [[#@LINE-6]]:9: error: '(' was never closed

@tsr.function
def g(x):
    a = x +* 2
    if a = 3:
        return x
    b = 12abc
      c = 3
    return 'unfinished

# CHECK: [[#@LINE-7]]:12: error: expected an expression, found '*'
# CHECK: [[#@LINE-7]]:10: error: '=' assigns; write '==' to compare
# CHECK: [[#@LINE-6]]:9: error: invalid decimal literal
# CHECK: [[#@LINE-5]]:12: error: unterminated string
# CHECK: 6 errors generated
