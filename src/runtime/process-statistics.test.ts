import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { totalmem } from 'node:os'
import { test } from 'node:test'
import {
  availableMemory,
  ChildSampler,
  parseCpuTime,
  parseKib,
  ProcessSampler,
} from './process-statistics.js'

test('the CPU time of a process whose name looks like fields is parsed', () => {
  const after = '7777 4 5 6 7 8 9 10 250 50 0 0 20 0 1 0 100'
  assert.equal(parseCpuTime(`42 (a) b (c)) S 1 2 ${after}`), 3000)
  assert.equal(parseCpuTime(''), undefined)
})

test('kernel files are read line by line', () => {
  const text = 'MemTotal:  10 kB\nMemAvailable:    123 kB\nVmRSS:\t 7 kB\n'
  assert.equal(parseKib(text, 'MemAvailable'), 123 * 1024)
  assert.equal(parseKib(text, 'VmRSS'), 7 * 1024)
  assert.equal(parseKib(text, 'Mem'), undefined)
})

test('available memory is positive, and at most the total', () => {
  const bytes = availableMemory()
  assert.ok(bytes > 0 && bytes <= totalmem(), String(bytes))
})

test('this process: memory immediately, CPU once it has worked', () => {
  const sampler = new ProcessSampler()
  const first = sampler.sample()
  assert.equal(first.resource.cpu, 0)
  assert.ok(first.resource.rss > 10_000_000)
  assert.equal(sampler.sample(), first)
  const end = performance.now() + 150
  while (performance.now() < end);
  const second = sampler.sample()
  assert.ok(second.resource.cpu > 0)
})

test('another process: memory while it runs, nothing once it has exited', async (context) => {
  const program = 'console.log(); setInterval(() => {}, 1000)'
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] })
  context.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  const sampler = new ChildSampler(child.pid ?? 0)
  if (process.platform === 'linux') assert.ok(sampler.sample().rss > 1_000_000)
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.deepEqual(sampler.sample(), { cpu: 0, rss: 0 })
})
