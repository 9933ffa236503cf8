import tessera as tsr


@tsr.function
def matmul(a, b):
    return a @ b
