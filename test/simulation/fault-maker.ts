// Random faults: at some time, or directly after some message, because that is where races are.

import type { Fault, FaultPlan, FaultTrigger } from './fault.js'
import type { Random } from './random.js'
import type { CutKind } from './virtual-link.js'

/** The possible targets, and the end of the faults. */
export interface FaultScope {
  readonly agents: number
  readonly clients: number
  readonly stormMs: number
}

const MAX_FAULTS = 6

/** The receivers of messages. */
const READERS = {
  task: 'worker',
  taskResult: 'scheduler',
  taskCancel: 'worker',
  objectRequest: 'scheduler',
  objectResponse: 'worker',
  workerHeartbeat: 'scheduler',
  clientHeartbeatEcho: 'client',
  graphTask: 'scheduler',
  taskUpdate: 'scheduler',
  taskRoom: 'client',
  objectInstruction: 'scheduler',
  clientHeartbeat: 'scheduler',
  workerHeartbeatEcho: 'worker',
  disconnectRequest: 'scheduler',
  graphTaskCancel: 'scheduler',
} as const

/** The weights of all kinds. */
const WEIGHTS: Readonly<Record<Fault['type'], number>> = {
  killScheduler: 3,
  freezeScheduler: 2,
  killAgent: 3,
  freezeAgent: 2,
  loseAgent: 1,
  stopAgent: 2,
  strikeProcessor: 2,
  exitProcessor: 1,
  freezeProcessor: 1,
  killClient: 1,
  freezeClient: 1,
  cutLink: 6,
  stallHost: 2,
  swallowHost: 2,
  // Only in worlds with a server: see `makeLosses`.
  loseServer: 0,
  moveServer: 0,
}

/** At least one. */
export function makeFaults(random: Random, scope: FaultScope): FaultPlan[] {
  // Some worlds have faults of one kind only.
  const only = random.chance(0.3) ? random.weighted(WEIGHTS) : undefined
  const count = random.chance(0.4) ? 1 : random.whole(1, MAX_FAULTS)
  return Array.from({ length: count }, () => ({
    trigger: makeTrigger(random, scope),
    fault: makeFault(random, scope, only ?? random.weighted(WEIGHTS)),
  }))
}

/** In a world with an object storage server: it is lost or leaves, perhaps several times. */
export function makeLosses(random: Random, scope: FaultScope): FaultPlan[] {
  const losses = Array.from({ length: random.pick([0, 1, 1, 3]) }, (): FaultPlan => {
    const type = random.chance(0.3) ? 'moveServer' : 'loseServer'
    return { trigger: makeTrigger(random, scope), fault: { type } }
  })
  if (losses.length === 0 || random.chance(0.7)) return losses
  // A client may miss what is lost.
  const told = { type: 'message', kind: 'objectLoss', reader: 'client', count: 1 } as const
  const trigger = { ...told, delayMs: random.chance(0.5) ? 0 : random.spread(0.01, 20) }
  return [...losses, { trigger, fault: makeCut(random, scope) }]
}

function makeTrigger(random: Random, { stormMs }: FaultScope): FaultTrigger {
  if (random.chance(0.3)) return { type: 'time', atMs: random.spread(0.1, stormMs) }
  const kind = random.pick(Object.keys(READERS) as (keyof typeof READERS)[])
  const reader = kind === 'taskResult' && random.chance(0.3) ? 'client' : READERS[kind]
  const delayMs = random.chance(0.5) ? 0 : random.spread(0.01, 20)
  return { type: 'message', kind, reader, count: random.whole(1, random.pick([2, 6, 20])), delayMs }
}

function makeFault(random: Random, scope: FaultScope, type: Fault['type']): Fault {
  const agent = random.int(scope.agents)
  const client = random.int(scope.clients)
  const backMs = random.chance(0.3) ? -1 : random.spread(1, 5_000)
  switch (type) {
    case 'killScheduler':
      return { type, downMs: random.spread(1, 5_000) }
    case 'freezeScheduler':
      return { type, ms: random.spread(1, 20_000) }
    case 'killAgent':
    case 'loseAgent':
      return { type, agent, backMs }
    case 'stopAgent':
      return { type, agent, backMs, isUrgent: random.chance(0.3) }
    case 'freezeAgent':
      return { type, agent, ms: random.spread(1, 90_000) }
    case 'strikeProcessor':
    case 'exitProcessor':
      return { type, agent, worker: random.int(2) }
    case 'freezeProcessor':
      return { type, agent, worker: random.int(2), ms: random.spread(1, 20_000) }
    case 'loseServer':
    case 'moveServer':
      return { type }
    case 'killClient':
      return { type, client }
    case 'freezeClient':
      return { type, client, ms: random.spread(1, 90_000) }
    case 'cutLink':
      return makeCut(random, scope)
    case 'stallHost':
    case 'swallowHost':
      return { type, host: pickHost(random, scope), ms: random.spread(1, 60_000) }
    default:
      return type
  }
}

function makeCut(random: Random, scope: FaultScope): Fault {
  const cut: CutKind = random.weighted({ both: 4, dealerFirst: 2, routerFirst: 2, void: 1 })
  return {
    type: 'cutLink',
    host: pickHost(random, scope),
    index: random.int(3),
    cut,
    laterMs: random.spread(0.1, 5_000),
  }
}

function pickHost(random: Random, { agents, clients }: FaultScope): string {
  const isAgent = random.chance(0.6)
  return isAgent ? `a${random.int(agents)}` : `c${random.int(clients)}`
}
