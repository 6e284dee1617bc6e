// How long the last future may take once all is well: the remaining work, and the time for
// detecting failures. Processes that were stopped or vanished silently take longest to detect.

import type { Fault } from './fault.js'
import { withChildren, workOf, type Program } from './program.js'
import { programsOf, type Scenario } from './scenario.js'

/** Silent peers are given up after this time, at the latest. */
const SILENCE_MS = 130_000
/** After any other fault everything has recovered within this time. */
const RECOVERY_MS = 12_000
/** Each task travels, has inputs fetched, and is killed if necessary. */
const TASK_MS = 1_000
/** Tasks wait this long for an object that its owner may create again. */
const SHARED_MS = 61_000
/** The additional time for a task that has to be ended by force at its time limit. */
const FORCE_MS = 8_000

/** The deadline for all futures, in milliseconds from the end of the storm. */
export function patienceFor(scenario: Scenario): number {
  const programs = scenario.clients.flatMap((client) => programsOf(client))
  const all = programs.flatMap((program) => [...withChildren(program)])
  const work = programs.reduce((sum, program) => sum + workOf(program), 0)
  const isLimited = (scenario.worker.taskTimeoutMs ?? 0) > 0
  const limits = all.filter(({ timeoutMs }) => isLimited || timeoutMs > 0).length
  const { faults } = scenario
  const recoveries =
    faults.length * RECOVERY_MS + Math.max(0, ...faults.map(({ fault }) => msOf(fault)))
  const silence = faults.some(({ fault }) => isSilent(fault)) ? SILENCE_MS : 0
  const steps = scenario.clients.flatMap((client) => client.steps)
  const isSharing = steps.some(({ type }) => type === 'share')
  const sharing = isSharing ? SHARED_MS * (1 + faults.length) : 0
  const delay = slownessOf(scenario) * (all.length + 10)
  const own = all.length * TASK_MS + limits * FORCE_MS
  return (
    lastStepOf(scenario) +
    work * repeatsOf(all, faults.length, isLimited) +
    own +
    recoveries +
    silence +
    sharing +
    delay
  )
}

/** Whether a fault is silent for the peers. */
function isSilent(fault: Fault): boolean {
  switch (fault.type) {
    case 'freezeScheduler':
    case 'freezeAgent':
    case 'freezeProcessor':
    case 'freezeClient':
    case 'loseAgent':
    case 'stallHost':
    case 'swallowHost':
      return true
    case 'cutLink':
      return fault.cut === 'void'
    case 'killScheduler':
    case 'killAgent':
    case 'stopAgent':
    case 'strikeProcessor':
    case 'exitProcessor':
    case 'killClient':
    case 'loseServer':
    case 'moveServer':
      return false
    default:
      return fault
  }
}

function msOf(fault: Fault): number {
  if (fault.type === 'killScheduler') return fault.downMs
  return fault.type === 'cutLink' ? fault.laterMs : 0
}

/**
 * A task that takes its process down, or has to be ended with it, takes down tasks that wait there,
 * sometimes.
 */
function repeatsOf(programs: readonly Program[], faults: number, isLimited: boolean): number {
  const isDeadly =
    isLimited ||
    programs.some(({ end, timeoutMs, children }) => {
      return end === 'exits' || end === 'crashes' || timeoutMs > 0 || children.length > 0
    })
  return (isDeadly ? 12 : 2) + faults
}

/** The cost of each message on a narrow or slow host, in milliseconds. */
function slownessOf({ pipes, hostPipes }: Scenario): number {
  const slow = Object.values(hostPipes).map(({ bytesPerMs, readGapMs }) => {
    return 20_000 / bytesPerMs + readGapMs * 20
  })
  return Math.max(0, ...slow) + pipes.maxDelayMs * 20
}

function lastStepOf({ clients, agents, stormMs }: Scenario): number {
  const steps = clients.map((client) => {
    return client.startMs + Math.max(0, ...client.steps.map(({ atMs }) => atMs))
  })
  const last = Math.max(0, ...steps, ...agents.map(({ startMs }) => startMs))
  return Math.max(0, last - stormMs)
}
