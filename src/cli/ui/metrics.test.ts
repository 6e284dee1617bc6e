import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Board } from './board.js'
import { info, NOW } from './board.kit.js'
import { uiMetrics } from './metrics.js'

test('what is known is there as metrics; nothing old is', () => {
  const board = new Board()
  const up = (value: number): string => {
    return `# HELP scaler_up Whether the scheduler reports.\n# TYPE scaler_up gauge\nscaler_up ${value}\n`
  }
  assert.equal(uiMetrics(board, NOW), up(0))
  board.onEvents([{ type: 'sample', info: info() }], NOW)
  const text = uiMetrics(board, NOW)
  assert.ok(text.startsWith(up(1)))
  for (const line of [
    'scaler_tasks_total{outcome="success"} 12345',
    'scaler_tasks_waiting{reason="all-busy"} 4',
    'scaler_tasks_waiting{reason="no-worker"} 0',
    'scaler_workers{state="busy"} 1',
    'scaler_workers_missing 0',
    'scaler_workers_cpu_cores 0.2',
  ]) {
    assert.ok(text.includes(`${line}\n`), line)
  }
  assert.equal(uiMetrics(board, NOW + 60_000), up(0))
})
