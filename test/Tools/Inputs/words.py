import tessera as tsr


@tsr.function
def add(x, y):
    return x + y
