import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ListedUnit } from '../../core/allocate/events.js'
import { checkAllocatorOptions } from '../options.js'
import { SlurmProvider } from './slurm.js'

const RUNNING: ListedUnit = { id: '7_1', key: '7_1', state: 'running' }
const QUEUED: ListedUnit = { id: '7_2', key: '7_2', state: 'queued' }

test('the job of Python workers is asked to end first, and cancelled if it goes on', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'slurm-'))
  const { PATH } = process.env
  process.env['PATH'] = `${folder}:${PATH ?? ''}`
  t.after(() => {
    process.env['PATH'] = PATH
    rmSync(folder, { recursive: true, force: true })
  })
  const log = join(folder, 'log')
  writeFileSync(join(folder, 'scancel'), `#!/bin/sh\necho "$*" >> ${log}\n`)
  writeFileSync(join(folder, 'squeue'), `#!/bin/sh\necho '7_1|R'\n`)
  for (const name of ['scancel', 'squeue']) chmodSync(join(folder, name), 0o700)
  for (const workerRuntime of ['python', 'javascript'] as const) {
    const address = 'tcp://127.0.0.1:1'
    const options = checkAllocatorOptions({
      provider: 'slurm',
      address,
      workerRuntime,
      workerCommand: 'run {names}',
    })
    const slurm = new SlurmProvider(options)
    await slurm.cancel([RUNNING, QUEUED])
    assert.deepEqual(await slurm.list(), [RUNNING])
    await slurm.cancel([RUNNING])
  }
  const python = ['--batch --signal=TERM 7_1', '7_2', '7_1']
  assert.deepEqual(readFileSync(log, 'utf8').trim().split('\n'), [...python, '7_1 7_2', '7_1'])
})
