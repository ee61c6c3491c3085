/* Preloaded into user-mode Linux: its room for the registers of those it traces ends with AVX-512. On a processor that has
 * more (AMX) it reads a part, cannot write a part back, and panics. Here the whole is read and written, with its part in it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define ROOM 65536

long ptrace(enum __ptrace_request request, ...)
{
	static long (*next)(enum __ptrace_request, ...);
	static char whole[ROOM];
	struct iovec *part, all = { whole, ROOM };
	va_list words;
	long pid, address, answer;
	void *data;

	if (!next)
		next = (long (*)(enum __ptrace_request, ...))dlsym(RTLD_NEXT, "ptrace");
	va_start(words, request);
	pid = va_arg(words, long);
	address = va_arg(words, long);
	data = va_arg(words, void *);
	va_end(words);
	if ((request != PTRACE_GETREGSET && request != PTRACE_SETREGSET) || address != NT_X86_XSTATE)
		return next(request, pid, address, data);
	part = data;
	answer = next(PTRACE_GETREGSET, pid, address, &all);
	if (answer || part->iov_len > all.iov_len)
		return answer ? answer : next(request, pid, address, data);
	if (request == PTRACE_GETREGSET) {
		memcpy(part->iov_base, whole, part->iov_len);
		return 0;
	}
	memcpy(whole, part->iov_base, part->iov_len);
	return next(PTRACE_SETREGSET, pid, address, &all);
}
