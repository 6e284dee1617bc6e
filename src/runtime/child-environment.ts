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

const [CERTIFICATES, OWN_CERTIFICATES] = ['NODE_EXTRA_CA_CERTS', 'SCALER_EXTRA_CA_CERTS']
/** From then on, Node reads these certificates when it needs them. */
const LAZY_SINCE = 22

/**
 * `env` for a process of ours that connects to nobody by TLS, and that calls `takeCertificates`.
 * Node 20 reads the user's certificates whenever it starts: the 140 of a Linux distribution cost 33
 * ms, more than all the rest, and memory.
 */
export function withLateCertificates(
  env: NodeJS.ProcessEnv,
  version: string = process.versions.node,
): NodeJS.ProcessEnv {
  const { [CERTIFICATES]: path, ...others } = env
  if (path === undefined || Number.parseInt(version) >= LAZY_SINCE) return env
  return { ...others, [OWN_CERTIFICATES]: path }
}

/** Puts the variable back, for the processes that this one starts. */
export function takeCertificates(env: NodeJS.ProcessEnv = process.env): void {
  const path = env[OWN_CERTIFICATES]
  if (path === undefined) return
  env[CERTIFICATES] = path
  delete env[OWN_CERTIFICATES]
}
