# RUN: tool %s | FileCheck %s
# CHEKC: word
# CHECK-COUNT-2: word
CONSTANT: int = 1
