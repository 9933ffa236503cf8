// RUN: tool %s --check
