// Units as processes: on this machine (`local`), or on a list of hosts (`ssh`). The same shell
// scripts start, list and end them, run by `sh` here or there. The processes go on without their
// allocator; files in a directory of the user's on each machine tell the next one about them.

import { createHash } from 'node:crypto'
import { messageOf, quoted } from '../../base/text.js'
import type { ListedUnit } from '../../core/allocate/events.js'
import type { CheckedAllocatorOptions } from '../options.js'
import { newUnitKey, type Provider, type StartedUnits, UNIT_KEY } from '../provider.js'
import { runCommand } from '../shell.js'
import { workerScript } from '../worker-command.js'

/** How much of the output of a unit that has failed is read, in bytes. */
const TAIL_BYTES = 2_000

/** A unit with its output, as far as it has ended. */
interface Found {
  readonly running: readonly string[]
  readonly ended: ReadonlyMap<string, string>
}

const NOTHING: Found = { running: [], ended: new Map() }

/** Processes on machines that a shell reaches. */
export class ProcessProvider implements Provider {
  readonly #options: CheckedAllocatorOptions
  /** '': this machine, which may have any number of units; others have one each. */
  readonly #hosts: readonly string[]
  /** What was last found on each host. */
  readonly #found = new Map<string, Found>()
  /** What last failed on a host: the others are asked first. */
  readonly #problems = new Map<string, string>()
  /** The output of units that have ended, until it is asked for. */
  readonly #outputs = new Map<string, string>()

  constructor(options: CheckedAllocatorOptions) {
    this.#options = options
    this.#hosts = options.provider === 'ssh' ? (options.hosts ?? []) : ['']
  }

  async start(count: number): Promise<StartedUnits> {
    const hosts = this.#hostsFor(count)
    const starts = await Promise.allSettled(hosts.map((host) => this.#start(host)))
    const problems = starts.flatMap((start) => {
      return start.status === 'rejected' ? [messageOf(start.reason)] : []
    })
    if (hosts.length < count) problems.push('each of the other hosts has a unit')
    const units = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []))
    return { units, problem: problems[0] ?? '' }
  }

  async list(signal?: AbortSignal): Promise<readonly ListedUnit[]> {
    const errors: unknown[] = []
    await Promise.all(
      this.#hosts.map(async (host) => {
        try {
          this.#onFound(host, foundIn(await this.#run(host, this.#listScript(), signal)))
          this.#problems.delete(host)
        } catch (error) {
          // What was there may still be there.
          errors.push(error)
          this.#onProblem(host, messageOf(error))
        }
      }),
    )
    if (errors.length === this.#hosts.length) throw errors[0]
    return this.#hosts.flatMap((host) => {
      return (this.#found.get(host) ?? NOTHING).running.map((key) => unitOn(host, key))
    })
  }

  async cancel(units: readonly ListedUnit[]): Promise<void> {
    await Promise.all(
      units.map(({ id, key }) => {
        const read = `is_own && [ -f "$d"/${key}.pid ] && read -r p < "$d"/${key}.pid || exit 0`
        const kill = `if runs "$p" ${key}; then kill -TERM "$p" || true; fi`
        return this.#run(hostIn(id), `${this.#directory()}\n${read}\n${kill}\n`)
      }),
    )
  }

  async output({ id, key }: ListedUnit): Promise<string> {
    const output = this.#outputs.get(key)
    this.#outputs.delete(key)
    if (output !== undefined) return output
    const tail = `is_own && tail -c ${TAIL_BYTES} "$d"/${key}.log 2>/dev/null || true`
    return this.#run(hostIn(id), `${this.#directory()}\n${tail}\n`)
  }

  #hostsFor(count: number): readonly string[] {
    if (this.#options.provider === 'local') return new Array<string>(count).fill('')
    const free = this.#hosts.filter((host) => (this.#found.get(host)?.running.length ?? 0) === 0)
    const failing = free.filter((host) => this.#problems.has(host))
    return [...free.filter((host) => !this.#problems.has(host)), ...failing].slice(0, count)
  }

  async #start(host: string): Promise<ListedUnit> {
    const key = newUnitKey()
    const script = quoted(workerScript(this.#options, key))
    // In a session of its own, whose leader becomes the worker: signals for the allocator, or the
    // end of a connection, do not reach it.
    const start = `$s sh -c ${script} > "$d"/${key}.log 2>&1 < /dev/null &`
    const lines = [
      this.#directory(),
      // A list may just remove the directory.
      'make 2>/dev/null || make || exit 1',
      's="$(command -v setsid || command -v nohup)"',
      start,
      // Without its id, it could not be found again.
      `fail() { kill $!; rm -f "$d"/${key}.*; echo "cannot write to $d" >&2; exit 1; }`,
      `echo $! > "$d"/${key}.pid || fail`,
      // A list that came before the process has its arguments would not recognize it.
      `for i in 1 2 3 4 5 6 7 8 9; do runs $! ${key} && break; done; exit 0`,
    ]
    try {
      await this.#run(host, `${lines.join('\n')}\n`)
    } catch (error) {
      this.#onProblem(host, messageOf(error))
      throw error
    }
    const { running, ended } = this.#found.get(host) ?? NOTHING
    this.#found.set(host, { running: [...running, key], ended })
    return unitOn(host, key)
  }

  #onFound(host: string, found: Found): void {
    this.#found.set(host, found)
    for (const [key, output] of found.ended) {
      if (this.#outputs.size > 100) this.#outputs.clear()
      this.#outputs.set(key, output)
    }
  }

  /** One host of several: the others go on without it. */
  #onProblem(host: string, problem: string): void {
    if (host !== '' && this.#problems.get(host) !== problem) {
      this.#options.logger.warn('a host is not available', { host, problem })
    }
    this.#problems.set(host, problem)
  }

  /**
   * Where the files are, and `runs PID KEY`: whether a process is the one of a unit.
   *
   * Allocators of other schedulers have directories of their own, whatever their names are. Anyone
   * may create the directory above them in `/tmp`: it must be the user's.
   */
  #directory(): string {
    const { name, address } = this.#options
    const digest = createHash('sha256').update(address).digest('hex').slice(0, 8)
    return `t="\${TMPDIR:-/tmp}/scaler-allocate-$(id -u)"; d="$t/${name}-${digest}"
is_own() { [ -d "$t" ] && [ ! -h "$t" ] && [ -O "$t" ]; }
make() (
  umask 077
  [ -d "$t" ] || mkdir "$t" || exit 1
  is_own || { echo "$t belongs to another user, or is a link" >&2; exit 1; }
  mkdir -p "$d"
)
runs() {
  if [ -r "/proc/$1/cmdline" ]; then grep -qF "$2" "/proc/$1/cmdline"
  else ps -o args= -p "$1" 2>/dev/null | grep -qF "$2"; fi
}`
  }

  /**
   * Prints a line for each unit, and the last output of those that have ended, whose files it
   * removes. A process with the id of a unit that has ended is another one.
   */
  #listScript(): string {
    return `${this.#directory()}
is_own && [ -d "$d" ] || exit 0
cd "$d" || exit 1
for f in *.pid; do
  [ -f "$f" ] || continue
  k="\${f%.pid}"
  read -r p < "$f"
  if runs "$p" "$k"; then
    echo "running $k"
  else
    echo "ended $k $(tail -c ${TAIL_BYTES} "$k.log" | od -An -v -tx1 | tr -d ' \\n')"
    rm -f "$f" "$k.log"
  fi
done
cd / && rmdir "$d" 2>/dev/null && rmdir "\${d%/*}" 2>/dev/null
exit 0
`
  }

  #run(host: string, input: string, signal?: AbortSignal): Promise<string> {
    const { sshCommand } = this.#options
    return runCommand(host === '' ? ['sh'] : [...sshCommand.trim().split(/\s+/), host, 'sh'], {
      input,
      signal,
    })
  }
}

function unitOn(host: string, key: string): ListedUnit {
  return { id: host === '' ? key : `${host}:${key}`, key, state: 'running' }
}

function hostIn(id: string): string {
  return id.includes(':') ? id.slice(0, id.lastIndexOf(':')) : ''
}

function foundIn(text: string): Found {
  const running: string[] = []
  const ended = new Map<string, string>()
  for (const line of text.split('\n')) {
    const [state, key = '', hex = ''] = line.split(' ')
    if (!UNIT_KEY.test(key)) continue
    if (state === 'running') running.push(key)
    if (state === 'ended') ended.set(key, Buffer.from(hex, 'hex').toString('utf8'))
  }
  return { running, ended }
}
