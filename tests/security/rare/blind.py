"""Has every program that a process starts begin without the kernel's page of clocks, as on a machine where there is none:
each is stopped at its start, and the word that says where the page is taken out of what the kernel handed it. Called with
the process and with a file that is there once it is watched."""

import ctypes
import os
import signal
import struct
import sys

SEIZE, CONT, DETACH, GETREGS = 0x4206, 7, 17, 12
FORK, VFORK, CLONE, EXEC = 1, 2, 3, 4
WATCHED = 1 << FORK | 1 << VFORK | 1 << CLONE | 1 << EXEC
STACK_POINTER = 19
IGNORE, PAGE_OF_CLOCKS = 1, 33

C = ctypes.CDLL(None, use_errno=True)
C.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def blinded(pid):
    registers = (ctypes.c_ulonglong * 32)()
    if C.ptrace(GETREGS, pid, None, ctypes.addressof(registers)) != 0:
        return
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        at = registers[STACK_POINTER]

        def word():
            nonlocal at
            memory.seek(at)
            at += 8
            return struct.unpack("Q", memory.read(8))[0]

        word()
        for _ in range(2):  # arguments and environment
            while word() != 0:
                pass
        while (kind := word()) != 0:
            word()
            if kind == PAGE_OF_CLOCKS:
                memory.seek(at - 16)
                memory.write(struct.pack("Q", IGNORE))


first, told = int(sys.argv[1]), sys.argv[2]
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if C.ptrace(SEIZE, first, None, WATCHED) != 0:
    sys.exit(f"ptrace: {os.strerror(ctypes.get_errno())}")
open(told, "w").close()
while True:
    try:
        pid, status = os.waitpid(-1, 0x40000000)
    except ChildProcessError:
        break
    if not os.WIFSTOPPED(status):
        continue
    event, number = status >> 16, os.WSTOPSIG(status)
    if event == EXEC:
        blinded(pid)
        if pid != first:
            C.ptrace(DETACH, pid, None, None)
            continue
    C.ptrace(CONT, pid, None, number if event == 0 else None)
