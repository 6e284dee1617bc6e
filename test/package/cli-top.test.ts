// `scaler top` in a real pseudo-terminal, which `script` of util-linux makes, and without one.

import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { Client, type ClusterInfo } from 'scaler-ts'
import { childrenOf, ROOT, runCommand, startCommand, startScheduler, until } from './command.js'

const { stdout: version } = spawnSync('script', ['--version'], { encoding: 'utf8' })
const skip = version?.includes('util-linux') === true ? false : 'no script of util-linux'

const ENTER = '\u001b[?1049h'
const LEAVE = '\u001b[?1049l'
const SHOW_CURSOR = '\u001b[?25h'

/** A shell in a terminal that runs the command, and prints the state of the terminal at its end. */
interface Terminal {
  /** All output so far. */
  output(): string
  /** What the screen shows, line by line. */
  screen(): readonly string[]
  press(keys: string): void
  resize(rows: number, columns: number): void
  /** The process of the command. */
  pid(): number
  /** The output after the command. */
  readonly ended: Promise<string>
}

function openTop(t: TestContext, args: readonly string[], env: object = {}): Terminal {
  const command = [process.execPath, `${ROOT}dist/cli/scaler-top.js`, ...args].join(' ')
  const line = `tty; stty rows 24 cols 80; ${command}; echo "code=$?"; stty -a`
  const clean = { ...process.env, TERM: 'xterm-256color', CI: '', NO_COLOR: '', ...env }
  const child = spawn('script', ['-qfec', line, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: clean,
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = once(child, 'close').then(() => output.slice(output.lastIndexOf(LEAVE)))
  t.after(async () => {
    for (const pid of childrenOf(child.pid ?? 0).flatMap(childrenOf)) process.kill(pid, 'SIGKILL')
    child.kill('SIGKILL')
    await ended
  })
  return {
    output: () => output,
    screen: () => screenOf(output),
    press: (keys) => child.stdin.write(keys),
    resize: (rows, columns) => {
      const [tty = ''] = /\/dev\/\S+/.exec(output) ?? []
      execFileSync('stty', ['-F', tty, 'rows', String(rows), 'cols', String(columns)])
    },
    pid: () => childrenOf(child.pid ?? 0).flatMap(childrenOf)[0] ?? assert.fail('no process'),
    ended,
  }
}

/** Applies what was written since the screen was entered. */
function screenOf(output: string): readonly string[] {
  const lines: string[] = []
  const written = output.slice(output.lastIndexOf(ENTER))
  const line = /\u001b\[(\d+);1H\u001b\[K(.*?)(?=\u001b\[\d+;1H|\u001b\[\?2026l)/gs
  for (const [, row, text = ''] of written.matchAll(line)) {
    lines[Number(row) - 1] = stripVTControlCharacters(text).trimEnd()
  }
  return lines
}

async function shown(terminal: Terminal, pattern: RegExp): Promise<void> {
  await until(() => terminal.screen().some((line) => pattern.test(line))).catch(() => {
    assert.fail(`${pattern} is not in ${terminal.output()}`)
  })
}

/** Nothing is left of the screen: the cursor is visible, input is echoed and read by lines. */
function assertRestored(after: string, code: number): void {
  assert.match(after, new RegExp(`code=${code}\\b`))
  assert.match(after, / echo /)
  assert.match(after, / icanon /)
}

test('the screen follows keys and sizes, and q restores the terminal', { skip }, async (t) => {
  await using client = await Client.local({ workers: 2 })
  await client.submit(function price() {
    return 1
  })
  await client
    .submit(Object.assign(() => assert.fail('dear'), { displayName: 'x' }))
    .catch(() => {})
  const top = openTop(t, [client.address], { NO_COLOR: '1' })
  await shown(top, /^ +worker +\[cpu\] +rss os_rss_free +free +sent queued +lag host$/)
  await shown(top, /^price\(\) |\| price\(\) +1 +0/)
  assert.equal(top.screen().length, 24)
  for (const line of top.screen()) assert.ok(line.length <= 80, line)
  assert.doesNotMatch(top.output(), /\u001b\[3[0-9]m/)
  top.press('d')
  await shown(top, /\[queued\]/)
  top.resize(40, 118)
  await shown(top, /agt_cpu agt_rss +cpu +rss os_rss_free .* \[queued\] suspended +lag ITL host$/)
  assert.equal(top.screen().length, 40)
  top.press('F')
  await shown(top, /^AssertionError.*dear/)
  top.press('\u001b')
  await shown(top, /\[queued\]/)
  top.press('\r')
  await shown(top, /registered with the scheduler/)
  top.press('e')
  await shown(top, /^nothing waits/)
  top.press('?')
  await shown(top, /A narrow terminal leaves out/)
  top.press('q')
  assertRestored(await top.ended, 0)
  assert.ok(top.output().lastIndexOf(SHOW_CURSOR) > top.output().lastIndexOf('\u001b[?25l'))
})

test('signals and Ctrl-C restore the terminal', { skip }, async (t) => {
  const { address } = await startScheduler(t)
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGINT', 130],
    [undefined, 130],
  ] as const) {
    const top = openTop(t, [address])
    await shown(top, /No workers/)
    if (signal === undefined) top.press('\u0003')
    else process.kill(top.pid(), signal)
    assertRestored(await top.ended, code)
  }
})

test('it can be suspended and continued', { skip }, async (t) => {
  const { address } = await startScheduler(t)
  const top = openTop(t, [address])
  await shown(top, /No workers/)
  process.kill(top.pid(), 'SIGTSTP')
  await until(() => top.output().includes(LEAVE))
  process.kill(top.pid(), 'SIGCONT')
  await until(() => top.output().split(ENTER).length === 3)
  await shown(top, /No workers/)
  top.press('q')
  assertRestored(await top.ended, 0)
})

test('a scheduler that is gone is told, and shown again once it is back', { skip }, async (t) => {
  const { scheduler, address } = await startScheduler(t)
  const top = openTop(t, [address])
  await shown(top, /No workers/)
  scheduler.child.kill('SIGKILL')
  await shown(top, /^no news for \d+ s; reconnecting to tcp:/)
  const next = startCommand(t, 'scaler-scheduler', [address])
  await next.line((line) => 'address' in line)
  await shown(top, /^scaler \d.* up \d/)
  top.press('q')
  assertRestored(await top.ended, 0)
})

test('without a terminal, it prints an object per line and second', async (t) => {
  const { address } = await startScheduler(t)
  const top = startCommand(t, 'scaler', ['top', address])
  const infos: Partial<ClusterInfo>[] = []
  await top.line((line) => infos.push(line) === 2)
  assert.deepEqual(infos[1]?.hosts, [])
  assert.equal(infos[1].scheduler?.address, address)
  // Nobody reads any more.
  top.child.stdout?.destroy()
  assert.equal((await top.ended).code, 0)
})

test('--timeout limits the wait for a first answer', async (t) => {
  const end = await runCommand(t, 'scaler-top', ['tcp://127.0.0.1:1', '--timeout', '0.5'])
  assert.deepEqual([end.code, end.stdout], [1, ''])
  assert.match(end.stderr, /^scaler_top: no scheduler at tcp:\/\/127\.0\.0\.1:1 [^\n]+\n$/)
})
