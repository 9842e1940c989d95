/*
 * accel.h - can this host's processor run guests, or must they be emulated?
 *
 * A /dev/kvm that opens is not enough: some hosts have the device and no
 * virtualisation behind it.
 *
 * Errors:  accel_probe() says in one sentence why not.
 * Threads: any.
 * Source:  Linux Documentation/virt/kvm/api.rst.
 */
#ifndef VMCTL_ACCEL_H
#define VMCTL_ACCEL_H

#include "base/err.h"

#include <stdbool.h>

/* Does /proc/cpuinfo's text show vmx or svm? */
bool accel_cpu_can(const char *cpuinfo);
/* Processor, device, and, where we may open it, a virtual CPU. */
int accel_probe(struct err *e) __attribute__((warn_unused_result));

#endif
