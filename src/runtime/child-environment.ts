// The environment of the processes that this library starts, and where it can start none.

import { ConfigError } from '../base/errors.js'
import type { AnyOptionTable } from '../base/option.js'
import {
  isPem,
  partName,
  TLS_PARTS,
  tlsOfEnvironment,
  type TlsOptions,
  tlsOption,
} from '../transport/tls/options.js'

/** Runtimes that lack parts of Node which this library needs: programs would wait forever. */
const OTHER_RUNTIMES = { bun: 'Bun', deno: 'Deno' }

/** Throws `ConfigError` if this is not Node. */
export function requireNode(
  versions: Readonly<Partial<NodeJS.ProcessVersions>> = process.versions,
): void {
  for (const [key, name] of Object.entries(OTHER_RUNTIMES)) {
    if (versions[key] === undefined) continue
    throw new ConfigError(`${name} is not supported: run this program with Node 20.19 or newer`)
  }
}

/** What decides whether this process can start others. */
interface ProcessAbilities {
  readonly isApplication: boolean
  readonly hasPermission: boolean
}

function abilities(): ProcessAbilities {
  const sea = process.getBuiltinModule('node:sea') as { isSea: () => boolean } | undefined
  const { permission }: Partial<NodeJS.Process> = process
  return {
    isApplication: sea?.isSea() === true,
    hasPermission: permission?.has('child') !== false,
  }
}

/** Why this process cannot start processes of Node; undefined if it can. */
export function processObstacle(given: ProcessAbilities = abilities()): string | undefined {
  if (given.isApplication) {
    return (
      'a single executable application cannot start schedulers or workers, because it contains ' +
      'Node only for itself; start them by scaler scheduler and scaler cluster, and connect with ' +
      'Client.connect(address)'
    )
  }
  if (given.hasPermission) return undefined
  return 'Node runs with --permission, but may not start processes: add --allow-child-process'
}

/** Throws `ConfigError` if this process cannot start processes of Node. */
export function requireProcesses(): void {
  requireNode()
  const obstacle = processObstacle()
  if (obstacle !== undefined) throw new ConfigError(obstacle)
}

const NOT_STARTED = 'the process could not be started'

/** What to do about errors of the system. */
const ADVICE = [
  [/\bE[MN]FILE\b/, ' (no file descriptors are left; raise the limit of open files, ulimit -n)'],
  [/\bEAGAIN\b/, ' (no more processes are allowed; raise their limit, ulimit -u)'],
] as const

/** Why there is no process, in one line; `message` is that of the system. */
export function startFailureOf(message: string): string {
  const advice = ADVICE.find(([code]) => code.test(message))?.[1] ?? ''
  return `${NOT_STARTED}: ${message}${advice}`
}

/** Whether a line of the log is about that. */
export function isStartFailure(line: string): boolean {
  return line.startsWith(NOT_STARTED)
}

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

/** How many threads V8 has in a process, by default, to compile and to collect garbage. */
const DEFAULT_THREADS = 4

/**
 * The options of Node for a process whose share of the machine is this many cores: as many threads
 * for V8, unless the user has chosen a number. Four for each core would hold up the tasks that they
 * compile: on two cores, the first 10,000 of a program take up to 15 % longer.
 */
export function threadOptions(
  cores: number,
  execArgv: readonly string[],
  env: NodeJS.ProcessEnv,
): readonly string[] {
  const threads = Math.max(Math.floor(cores), 1)
  const isGiven = /--v8[-_]pool[-_]size/.test([...execArgv, env['NODE_OPTIONS']].join(' '))
  return isGiven || threads >= DEFAULT_THREADS ? [] : [`--v8-pool-size=${threads}`]
}

/**
 * Removes that option, so that programs that tasks fork do not inherit it, and tasks can pass
 * `process.execArgv` to threads, which would refuse it.
 */
export function forgetThreads(execArgv: string[] = process.execArgv): void {
  const at = execArgv.findIndex((option) => /^--v8-pool-size=\d$/.test(option))
  if (at >= 0) execArgv.splice(at, 1)
}

const [CERTIFICATES, OWN_CERTIFICATES] = ['NODE_EXTRA_CA_CERTS', 'SCALER_EXTRA_CA_CERTS']
/** From then on, Node reads these certificates when it needs them. */
const LAZY_SINCE = 22

/**
 * `env` for a process of ours that trusts no certificates but those of the option `tls`, and that
 * calls `takeCertificates`. Node 20 reads those of the user whenever it starts: the 144 of a Linux
 * distribution cost 33 ms, more than all the rest of a start, and memory.
 */
export function withLateCertificates(
  env: NodeJS.ProcessEnv,
  version: string = process.versions.node,
): NodeJS.ProcessEnv {
  const { [CERTIFICATES]: path, ...others } = env
  if (path === undefined || Number.parseInt(version, 10) >= LAZY_SINCE) return env
  return { ...others, [OWN_CERTIFICATES]: path }
}

/** Puts the variable back, for the processes that this one starts. */
export function takeCertificates(env: NodeJS.ProcessEnv = process.env): void {
  const path = env[OWN_CERTIFICATES]
  if (path === undefined) return
  env[CERTIFICATES] = path
  delete env[OWN_CERTIFICATES]
}

// Certificates for tls:// addresses: all processes have those of the one that has started them.

/** The options of all commands with an address. They are passed on as environment variables. */
export const TLS_FLAGS: AnyOptionTable = {
  tlsCa: {
    type: { kind: 'text' },
    description: 'a PEM file: the authorities that sign the certificates of peers',
    flag: 'tls-ca',
  },
  tlsCert: {
    type: { kind: 'text' },
    description: 'a PEM file: the certificate of this process',
    flag: 'tls-cert',
  },
  tlsKey: {
    type: { kind: 'text' },
    description: 'a PEM file: the private key of the certificate',
    flag: 'tls-key',
  },
}

/**
 * The variables for a process that this one starts: those of the option or else of our own
 * environment, with absolute paths.
 */
export function tlsVariables(given: TlsOptions | undefined): Readonly<Record<string, string>> {
  const tls = tlsOption(given) ?? tlsOfEnvironment()
  if (tls === undefined) return {}
  return Object.fromEntries(TLS_PARTS.map((part) => [partName(part, false), tls[part] ?? '']))
}

/**
 * The flags for a command that this process has others start: with the paths of the option, or else
 * of our own environment. Throws `ConfigError` for an option that is not a path.
 */
export function tlsFlags(given: TlsOptions | undefined): readonly string[] {
  const tls = tlsOption(given) ?? tlsOfEnvironment() ?? {}
  return Object.entries(tls).flatMap(([part, text]) => {
    if (!isPem(text)) return [`--tls-${part}`, text]
    if (given === undefined) return []
    throw new ConfigError(`option tls.${part}: workers need the path of a file, not its content`)
  })
}

/** How people give an address to a command: behind the flags that it needs. */
export function withTlsFlags(address: string): string {
  const flags = TLS_PARTS.map((part) => `--tls-${part} FILE `).join('')
  return /^tls:/i.test(address) ? `${flags}${address}` : address
}

/** Sets the variables of this process from the options of a command, by their names in code. */
export function setTlsVariables(values: Readonly<Record<string, unknown>>): void {
  const { tlsCa: ca, tlsCert: cert, tlsKey: key } = values as Partial<Record<string, string>>
  const given = Object.entries({ ca, cert, key }).filter(([, path]) => (path ?? '') !== '')
  if (given.length > 0) Object.assign(process.env, tlsVariables(Object.fromEntries(given)))
}
