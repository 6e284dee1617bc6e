// Local clusters whose processes cannot start, or start slowly: the program says why.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isAlive, until } from './condition.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const skip = process.platform === 'win32' ? 'has no ps' : false

const PROGRAM = `
  import { Client } from 'scaler-ts'
  const client = await Client.local({ workers: 2 })
  console.log(await client.submit(() => 42))
  await client.close()
`

interface Story {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

class Program {
  stdout = ''
  stderr = ''
  readonly pid: number
  readonly #exit: Promise<[number | null, string | null]>

  constructor(command: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const [file = '', ...args] = command
    const child = spawn(file, args, { cwd: ROOT, env: { ...process.env, ...env } })
    this.pid = child.pid ?? assert.fail()
    child.stdout.on('data', (bytes: Buffer) => (this.stdout += bytes.toString()))
    child.stderr.on('data', (bytes: Buffer) => (this.stderr += bytes.toString()))
    this.#exit = once(child, 'close') as Promise<[number | null, string | null]>
  }

  async end(): Promise<Story> {
    const [code, signal] = await this.#exit
    return { code, signal, stdout: this.stdout, stderr: this.stderr }
  }

  /** The processes that it has started. */
  children(): readonly number[] {
    const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    const rows = table.trim().split('\n')
    const pairs = rows.map((row) => row.trim().split(/\s+/).map(Number))
    return pairs.flatMap(([pid = 0, parent]) => (parent === this.pid ? [pid] : []))
  }
}

/** A program, given as text. */
function node(text: string, flags: readonly string[] = []): readonly string[] {
  return [process.execPath, ...flags, '--input-type=module', '-e', text]
}

/** The variable that has all processes of Node load a module. */
function preloaded(t: TestContext, text: string): NodeJS.ProcessEnv {
  const folder = mkdtempSync(join(tmpdir(), 'scaler-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'preload.cjs')
  writeFileSync(file, text)
  return { NODE_OPTIONS: `--require ${file}` }
}

/** The first times, the agent finds no Node. */
const NO_NODE = `
  if (process.argv[2] === 'agent') {
    const { execPath } = process
    let left = 4
    const get = () => (left-- > 0 ? '/no/such/node' : execPath)
    Object.defineProperty(process, 'execPath', { get })
  }
`

test('a start that waits for processes says why, once, and goes on', async (t) => {
  const program = new Program(node(PROGRAM), preloaded(t, NO_NODE))
  const { code, stdout, stderr } = await program.end()
  assert.equal(stdout, '42\n', stderr)
  assert.equal(code, 0)
  const [warning = '', ...others] = stderr.match(/\[SCALER_START_DELAYED\].*/g) ?? []
  const text = 'the process could not be started: spawn /no/such/node ENOENT; trying again'
  const what = 'the agent of the embedded cluster is not ready yet'
  assert.equal(warning, `[SCALER_START_DELAYED] ScalerWarning: ${what}: ${text}`)
  assert.deepEqual(others, [])
})

test('Cluster.start says so, too', async () => {
  const text = `
    import { Client, Cluster, Scheduler } from 'scaler-ts'
    const scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
    const { execPath } = process
    process.execPath = '/no/such/node'
    process.on('warning', ({ code, message }) => {
      console.log(code, message)
      process.execPath = execPath
    })
    const cluster = await Cluster.start({ address: scheduler.address, workers: 2 })
    await cluster.shutdown()
    await scheduler.close()
  `
  const { code, stdout, stderr } = await new Program(node(text)).end()
  assert.equal(code, 0, stderr)
  assert.match(
    stdout,
    /^SCALER_START_DELAYED the cluster is not ready yet: .*ENOENT; trying again\n$/,
  )
})

test('without file descriptors, the error of a start names the cause', { skip }, async () => {
  const text = `
    import { openSync, closeSync } from 'node:fs'
    import { SchedulerClusterCombo } from 'scaler-ts'
    const files = []
    try { for (;;) files.push(openSync('/dev/null')) } catch {}
    const error = await SchedulerClusterCombo.start({ workers: 1 }).catch((error) => error)
    for (const file of files) closeSync(file)
    console.log(error.code, error.stack)
  `
  const limited = ['sh', '-c', 'ulimit -n 64; exec "$@"', 'sh', ...node(text)]
  const { stdout, stderr } = await new Program(limited).end()
  assert.match(
    stdout,
    /^ERR_SCALER_EMBEDDED .*could not be started: .*EMFILE \(.*ulimit -n\)\n/,
    stderr,
  )
})

test('a child that says nothing is reported, and ends with its program', { skip }, async (t) => {
  const STUCK = `
    if (process.argv[2] === 'agent') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  `
  const program = new Program(node(PROGRAM), preloaded(t, STUCK))
  await until('the warning', () => program.stderr.includes('SCALER_START_DELAYED'))
  assert.match(program.stderr, /the agent .* is not ready yet: Node has not started for 5 s; /)
  const children = program.children()
  assert.equal(children.length, 2)
  process.kill(program.pid, 'SIGTERM')
  assert.equal((await program.end()).signal, 'SIGTERM')
  await until('nothing is left', () => !children.some(isAlive))
})

test('what a module prints into the reports of a part goes to stderr', async (t) => {
  const PRINTING = `
    if (process.argv[2] === 'agent') {
      console.log('not a report')
      console.log('{"event":"of another kind"}')
      process.stdout.write('no end')
    }
  `
  const { code, stdout, stderr } = await new Program(node(PROGRAM), preloaded(t, PRINTING)).end()
  assert.equal(stderr, 'not a report\n{"event":"of another kind"}\nno end\n')
  assert.equal(stdout, '42\n')
  assert.equal(code, 0)
})

test('without the permission to start processes, a start names the flag', async () => {
  const isNew = process.allowedNodeEnvironmentFlags.has('--permission')
  const flags = [isNew ? '--permission' : '--experimental-permission', '--allow-fs-read=*']
  const { code, stderr } = await new Program(node(PROGRAM, flags)).end()
  assert.equal(code, 1)
  assert.match(stderr, /ConfigError: Node runs with --permission, .*: add --allow-child-process\n/)
})
