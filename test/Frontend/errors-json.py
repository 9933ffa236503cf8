# Diagnostics as data: places, notes and suggestions.
# RUN: not %tessera compile %s::main --arg x=fp32[2,8] --emit graph --diagnostics json 2> %t
# RUN: %python -c "import json, sys; print(json.dumps(json.load(open(sys.argv[1])), indent=1))" %t | FileCheck %s
import tessera as tsr

@tsr.function
def scaled(v):
    return tsr.sofmax(v, dim=1)

@tsr.function
def main(x):
    return scaled(x)

# CHECK: "severity": "error",
# CHECK-NEXT: "file": "{{.*}}errors-json.py",
# CHECK-NEXT: "line": 8,
# CHECK-NEXT: "column": 16,
# CHECK-NEXT: "end_line": 8,
# CHECK-NEXT: "end_column": 22,
# CHECK-NEXT: "message": "module 'tessera' has no attribute 'sofmax'; did you mean 'softmax'?",
# CHECK-NEXT: "fixits": [
# CHECK-NEXT: {
# CHECK-NEXT: "file": "{{.*}}errors-json.py",
# CHECK-NEXT: "line": 8,
# CHECK-NEXT: "column": 16,
# CHECK-NEXT: "end_line": 8,
# CHECK-NEXT: "end_column": 22,
# CHECK-NEXT: "replacement": "softmax"
# CHECK-NEXT: }
# CHECK-NEXT: ],
# CHECK-NEXT: "notes": [
# CHECK-NEXT: {
# CHECK-NEXT: "severity": "note",
# CHECK-NEXT: "file": "{{.*}}errors-json.py",
# CHECK-NEXT: "line": 12,
# CHECK-NEXT: "column": 12,
# CHECK-NEXT: "end_line": 12,
# CHECK-NEXT: "end_column": 21,
# CHECK-NEXT: "message": "in the call of 'scaled' here",
# CHECK-NEXT: "fixits": []
