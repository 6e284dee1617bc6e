// The program of the processes that SchedulerClusterCombo starts: a scheduler, or an agent. It gets
// its options as one line of JSON on stdin and ends when stdin ends, so that it never outlives the
// program that started it, however that one ends. What it has to say goes out as lines of JSON.

import { createInterface } from 'node:readline'
import type { Logger } from '../base/logger.js'
import { Scheduler } from '../scheduler/scheduler.js'
import { Agent } from '../worker/agent.js'
import type { EmbeddedOrder, EmbeddedReport } from './embedded-process.js'

/** Something that runs until it is told to end. */
interface Running {
  readonly ended: Promise<{ readonly reason: string; readonly isFailure: boolean }>
  readonly end: () => Promise<void>
}

/** A part that does not end in good order within this time is ended anyway. */
const END_TIMEOUT_MS = 5000

function report(message: EmbeddedReport): void {
  process.stdout.write(`${JSON.stringify(message)}\n`)
}

const logger: Logger = {
  debug: () => {},
  info: (text, fields) => report({ event: 'log', level: 'info', text, fields: fields ?? {} }),
  warn: (text, fields) => report({ event: 'log', level: 'warn', text, fields: fields ?? {} }),
  error: (text, fields) => report({ event: 'log', level: 'error', text, fields: fields ?? {} }),
}

async function startScheduler(
  options: Extract<EmbeddedOrder, { role: 'scheduler' }>['options'],
): Promise<Running> {
  const scheduler = await Scheduler.start({ ...options, logger })
  const { address, monitorAddress } = scheduler
  report({ event: 'listening', address, monitorAddress })
  return { ended: scheduler.ended, end: () => scheduler.close() }
}

async function startAgent(
  options: Extract<EmbeddedOrder, { role: 'agent' }>['options'],
): Promise<Running> {
  const agent = await Agent.start({ ...options, logger })
  agent.ready.then(
    () => report({ event: 'ready' }),
    (error: unknown) => report({ event: 'failed', text: String(error) }),
  )
  return { ended: agent.ended, end: () => agent.stop() }
}

async function main(): Promise<void> {
  // A terminal's Ctrl-C goes to the program that started this one; that one ends this one.
  process.on('SIGINT', () => {})
  const lines = createInterface({ input: process.stdin })
  let running: Running | undefined
  for await (const line of lines) {
    if (running !== undefined) continue
    const order = JSON.parse(line) as EmbeddedOrder
    running =
      order.role === 'scheduler'
        ? await startScheduler(order.options)
        : await startAgent(order.options)
    void running.ended.then(({ isFailure }) => process.exit(isFailure ? 1 : 0))
  }
  setTimeout(() => process.exit(1), END_TIMEOUT_MS).unref()
  await running?.end()
  process.exit(0)
}

// Reports go to a pipe whose reader may be gone: then there is nobody to tell, and stdin has ended.
process.stdout.on('error', () => {})

main().catch((error: unknown) => {
  report({ event: 'failed', text: error instanceof Error ? error.message : String(error) })
  process.exitCode = 1
  process.stdin.destroy()
})
