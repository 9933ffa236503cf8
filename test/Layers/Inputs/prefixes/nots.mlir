// RUN: tool %s | FileCheck %s --check-prefixes=ONE,THREE
// RUN: tool %s -x "a;b" \
// RUN:   | not tool | FileCheck %s -check-prefixes=ONE,TWO && true
// ONE-NOT: word
// THREE: word
// TWO-NOT: word
