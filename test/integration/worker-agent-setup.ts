// A real agent with real processors, and a scheduler controlled by the test: shared by the tests of
// workers.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { LogFields, Logger } from '#src/base/logger.js'
import { Agent } from '#src/worker/agent/agent.js'
import type { AgentOptions } from '#src/worker/agent/options.js'
import { FakeScheduler, type FakeSchedulerOptions } from './fake-scheduler.js'

export interface LogLine {
  readonly level: string
  readonly text: string
  readonly fields: LogFields
}

export class LineLogger implements Logger {
  readonly lines: LogLine[] = []
  debug(text: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'debug', text, fields })
  }
  info(text: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'info', text, fields })
  }
  warn(text: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'warn', text, fields })
  }
  error(text: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'error', text, fields })
  }
}

export interface Setup {
  readonly scheduler: FakeScheduler
  readonly agent: Agent
  readonly log: LineLogger
}

/** A scheduler and an agent that has registered with it; both end with the test. */
export async function setUp(
  context: TestContext,
  options: Partial<AgentOptions> = {},
  schedulerOptions: FakeSchedulerOptions = {},
): Promise<Setup> {
  const scheduler = await FakeScheduler.start(schedulerOptions)
  const log = new LineLogger()
  const { address } = scheduler
  const agent = await Agent.start({
    address,
    workers: 1,
    heartbeatIntervalMs: 50,
    logger: log,
    killDelayMs: 1000,
    ...options,
  })
  context.after(async () => {
    await agent.stop()
    await scheduler.close()
  })
  await agent.ready
  return { scheduler, agent, log }
}

/** A path that does not exist yet and is removed with the test. */
export function pathFor(context: TestContext, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'scaler-worker-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, name)
}

/** The running processes that this one has started. Linux only. */
export function childProcesses(): number[] {
  const text = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'latin1')
  return text.split(' ').filter(Boolean).map(Number)
}
