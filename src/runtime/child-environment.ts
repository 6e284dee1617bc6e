// The environment of the processes that this library starts.

/**
 * Lets glibc (2.35 and later; nothing else reads it) ask the kernel for huge pages where memory is
 * large: a fresh buffer of 64 MiB is filled in 17 ms instead of 60, because the kernel prepares 32
 * pages for it instead of 16,384.
 */
const [VARIABLE, HUGE_PAGES] = ['GLIBC_TUNABLES', 'glibc.malloc.hugetlb=1']

/** `env`, in which large buffers are cheap; unchanged if it has tunables of its own. */
export function withHugePages(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return env[VARIABLE] === undefined ? { ...env, [VARIABLE]: HUGE_PAGES } : env
}

/**
 * Removes the variable, so that programs that tasks start do not inherit it. A user who has set the
 * same value loses it, too.
 */
export function forgetHugePages(): void {
  if (process.env[VARIABLE] === HUGE_PAGES) delete process.env[VARIABLE]
}
