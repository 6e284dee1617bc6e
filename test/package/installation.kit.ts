// A user's machine for installations: a home folder, a project in a folder with a difficult name,
// and the programs that run there, without the caller's own settings.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { ROOT } from './command.js'
import { LocalRegistry, readManifest, type MadePackage } from './local-registry.kit.js'

/** Packages beside ours that closures of the programs use. */
const MADE: readonly MadePackage[] = [
  {
    name: 'layout-esm',
    manifest: { type: 'module', exports: { import: './index.js' } },
    files: { 'index.js': 'export const shout = (text) => text.toUpperCase()\n' },
  },
  {
    name: 'layout-cjs',
    files: { 'index.js': 'exports.repeat = (text) => text + text\n' },
  },
]

/** The output of programs; they get the address of a scheduler, or start a cluster. */
export const PROGRAM_ANSWER: string = '{"sum":42,"word":"ABAB","hasSignal":true}\n'

const BODY = `
async function main(address) {
  const client = address === undefined
    ? await Client.local({ workers: 1 })
    : await Client.connect(address)
  const offset = 40
  const work = (n) => ({
    sum: n + offset,
    word: repeat(WORD),
    hasSignal: currentTask().signal instanceof AbortSignal,
  })
  console.log(JSON.stringify(await client.submit(work, 2)))
  await client.close()
}
main(process.argv[2] ?? process.env.SCALER_ADDRESS)
`

/** The files of a project: the same program as an ES module and for `require`. */
export const PROGRAMS: Readonly<Record<string, string>> = {
  'program.mjs': `import { Client, currentTask } from 'scaler-ts'
import { repeat } from 'layout-cjs'
import { shout } from 'layout-esm'
${BODY.replace('WORD', `shout('ab')`)}`,
  'program.cjs': `const { Client, currentTask } = require('scaler-ts')
const { repeat } = require('layout-cjs')
${BODY.replace('WORD', `'AB'`)}`,
}

/** The exit of a program. */
export interface ProgramEnd {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A file that scripts/peers.mjs has installed for these tests. */
export function packagingPeer(path: string): string {
  return join(ROOT, '.peers/packaging/node_modules', path)
}

/** False, or why tests that need those are skipped. */
export const WITHOUT_PEERS: string | false = existsSync(join(ROOT, '.peers/packaging/made-of'))
  ? false
  : 'no packaging tools: node scripts/peers.mjs'

/** Folders and a registry that are removed with the test. */
export class Installation {
  /** The project: `work` with a space, quotes and letters outside ASCII. */
  readonly project: string
  readonly registry: LocalRegistry
  readonly #t: TestContext
  readonly #env: NodeJS.ProcessEnv

  private constructor(t: TestContext, top: string, registry: LocalRegistry) {
    this.#t = t
    this.registry = registry
    this.project = join(top, `Ünser wörk's 工程`)
    const tmp = join(top, 'tmp')
    this.#env = { ...cleanEnvironment(), HOME: join(top, 'home'), TMPDIR: tmp, TEMP: tmp, TMP: tmp }
  }

  /** Creates the folders; the programs are in the project already. */
  static async make(t: TestContext): Promise<Installation> {
    const top = await realpath(await mkdtemp(join(tmpdir(), 'in-')))
    t.after(() => rm(top, { recursive: true, force: true, maxRetries: 5 }))
    const registry = await LocalRegistry.start(MADE)
    t.after(() => registry.close())
    const installation = new Installation(t, top, registry)
    // Installers keep files there, and clean up little.
    for (const name of ['home', 'tmp']) await mkdir(join(top, name))
    await installation.write(PROGRAMS)
    return installation
  }

  /** Writes files of the project. */
  async write(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [path, text] of Object.entries(files)) {
      const target = join(this.project, path)
      await mkdir(dirname(target), { recursive: true })
      await writeFile(target, text)
    }
  }

  /** Runs a program to its end in a folder of the project. */
  run(command: readonly string[], folder = '.', env: NodeJS.ProcessEnv = {}): Promise<ProgramEnd> {
    return this.#spawn(command, folder, env).ended
  }

  /** The same for a program that must succeed: returns its output. */
  async get(command: readonly string[], folder = '.', env?: NodeJS.ProcessEnv): Promise<string> {
    const { code, stdout, stderr } = await this.run(command, folder, env)
    if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${stderr}${stdout}`)
    return stdout
  }

  /** Runs npm as it comes with Node. */
  npm(args: readonly string[], folder = '.'): Promise<string> {
    const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--foreground-scripts']
    return this.get(['npm', ...args, ...quiet, `--registry=${this.registry.url}`], folder)
  }

  /**
   * Asserts that everything works where Node itself finds packages: commands, started as `bin`
   * says, of this version, and the programs on a cluster that the commands, or they themselves,
   * start.
   */
  async assertWorks(bin: (name: string) => readonly string[]): Promise<void> {
    await this.assertVersions(bin)
    const address = await this.startCluster(bin('scaler_scheduler'), bin('scaler_cluster'))
    const node = [process.execPath]
    for (const name of Object.keys(PROGRAMS)) {
      assert.equal(await this.get([...node, name, address]), PROGRAM_ANSWER, name)
    }
    assert.equal(await this.get([...node, 'program.cjs']), PROGRAM_ANSWER)
    assert.equal(await this.get([...bin('scaler'), 'run', 'program.mjs']), PROGRAM_ANSWER)
    assert.match(await this.get([...bin('scaler'), 'doctor', address]), /^ok +task /m)
  }

  /** Asserts that the commands, started as `bin` says, are those of this version. */
  async assertVersions(bin: (name: string) => readonly string[]): Promise<void> {
    const { bin: commands, version } = await readManifest()
    for (const name of Object.keys(commands)) {
      assert.equal(await this.get([...bin(name), '--version']), `${version}\n`, name)
    }
  }

  /**
   * A scheduler and a worker, started by the commands as `scheduler` and `cluster` say; returns the
   * scheduler's address. They end with the test.
   */
  async startCluster(
    scheduler: readonly string[],
    cluster: readonly string[],
    folder = '.',
  ): Promise<string> {
    const { address } = await this.#spawn([...scheduler, 'tcp://127.0.0.1:0'], folder).line(
      'address',
    )
    this.#spawn([...cluster, '-n', '1', String(address)], folder)
    return String(address)
  }

  #spawn([command = '', ...args]: readonly string[], folder: string, env?: NodeJS.ProcessEnv) {
    const child = spawn(command, args, {
      cwd: join(this.project, folder),
      env: { ...this.#env, ...env },
      // A group of its own: some installers start commands in a shell.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const output = { stdout: '', stderr: '' }
    child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()))
    const ended = once(child, 'close').then(([code]): ProgramEnd => ({
      code: code as number | null,
      ...output,
    }))
    this.#t.after(async () => {
      endGroup(child.pid)
      await ended.catch(() => undefined)
    })
    const lines = createInterface({ input: child.stdout })
    const line = (key: string): Promise<Readonly<Record<string, unknown>>> =>
      new Promise((resolve, reject) => {
        lines.on('line', (text) => {
          const fields = text.startsWith('{"') ? (JSON.parse(text) as Record<string, unknown>) : {}
          if (key in fields) resolve(fields)
        })
        void ended.then((end) => reject(new Error(`no ${key}: ${JSON.stringify(end)}`)), reject)
      })
    return { ended, line }
  }
}

/** The caller's environment must not have an effect: npm passes a lot to its children. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const isForeign = /^(npm_|yarn_|pnpm_|scaler_|node_test|node_options|init_cwd)/i
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isForeign.test(name)))
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
