// `scaler top` in a real pseudo-terminal, and without one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client, type ClusterInfo } from 'scaler-ts'
import { runCommand, startCommand, startScheduler, until } from './command.js'
import { assertRestored, ENTER, LEAVE, openTop, SHOW_CURSOR, shown, skip } from './terminal.js'

test('the screen follows keys and sizes, and q restores the terminal', { skip }, async (t) => {
  await using client = await Client.local({ workers: 2 })
  await client.submit(function price() {
    return 1
  })
  await client
    .submit(Object.assign(() => assert.fail('dear'), { displayName: 'x' }))
    .catch(() => {})
  const top = openTop(t, [client.address], { NO_COLOR: '1' })
  await shown(top, /^ +worker +\[cpu↓\] +rss os_rss_free +free +sent queued +lag host$/)
  await shown(top, /^price\(\) |\| price\(\) +1 +0/)
  assert.equal(top.screen().length, 24)
  for (const line of top.screen()) assert.ok(line.length <= 80, line)
  assert.doesNotMatch(top.output(), /\u001b\[3[0-9]m/)
  top.press('d')
  await shown(top, /\[queued↓\]/)
  top.resize(40, 118)
  await shown(top, /agt_cpu agt_rss +cpu +rss os_rss_free .* \[queued↓\] suspended +lag ITL host$/)
  assert.equal(top.screen().length, 40)
  top.press('F')
  await shown(top, /^AssertionError.*dear/)
  top.press('\u001b')
  await shown(top, /\[queued↓\]/)
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
    ['SIGQUIT', 131],
    ['SIGALRM', 142],
    [undefined, 130],
  ] as const) {
    const top = openTop(t, [address])
    await shown(top, /No workers/)
    if (signal === undefined) top.press('\u0003')
    else process.kill(top.pid(), signal)
    assertRestored(await top.ended, code)
  }
})

test('an error inside it is printed once the terminal is restored', { skip }, async (t) => {
  const { address } = await startScheduler(t)
  const thrower = "process.on('SIGUSR2',()=>{throw%20new%20Error('on%20purpose')})"
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${thrower}` }
  const top = openTop(t, [address], env)
  await shown(top, /No workers/)
  process.kill(top.pid(), 'SIGUSR2')
  const after = await top.ended
  assertRestored(after, 1)
  assert.match(after, /Error: on purpose/)
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
