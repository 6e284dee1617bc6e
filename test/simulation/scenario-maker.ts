// From a seed to a scenario. Small ones: errors that occur with many parts occur with few.

import { NO_LIMITS, type StorageLimits } from '#src/core/scheduler/object/room.js'
import type { FaultPlan } from './fault.js'
import { makeFaults, makeLosses } from './fault-maker.js'
import { makeProgram, makeRun, makeWish, WANTED, type Taste } from './program-maker.js'
import { Random } from './random.js'
import type { SchedulerSettings } from './scheduler-host.js'
import type { AgentPlan, ClientPlan, NodePlan, Scenario, Step } from './scenario.js'
import type { PipeSettings } from './virtual-pipe.js'
import type { WorkerSettings } from './worker-host.js'

/** The scenario of a seed. */
export function makeScenario(seed: number): Scenario {
  const random = new Random(seed)
  const taste = makeTaste(random)
  const agents = makeAgents(random)
  const clients = makeClients(random, taste)
  const pipes = makePipes(random)
  const stormMs = random.spread(50, 20_000)
  const scope = { agents: agents.length, clients: clients.length, stormMs }
  const faults: readonly FaultPlan[] = random.chance(0.2) ? [] : makeFaults(random, scope)
  const servers = random.fork('servers')
  const minStoredBytes = servers.pick([Infinity, Infinity, Infinity, 1, 100, 1_000])
  const losses = minStoredBytes === Infinity ? [] : makeLosses(servers, scope)
  const hosts = [...agents.map((_, at) => `a${at}`), ...clients.map((_, at) => `c${at}`)]
  return {
    seed,
    pipes,
    hostPipes: slowHosts(random, pipes, hosts),
    ...makeSettings(random),
    hasMonitor: random.chance(0.1),
    agents,
    clients,
    faults: [...faults, ...losses],
    stormMs,
    minStoredBytes,
  }
}

/** How long tasks take, from and to, in milliseconds. */
const SPEEDS = {
  tiny: [0.005, 2],
  mixed: [0.01, 500],
  long: [50, 60_000],
  uneven: [0.005, 2],
} as const

function makeTaste(random: Random): Taste {
  const speed = random.weighted({ tiny: 2, mixed: 4, long: 1, uneven: 2 })
  const [minMs, maxMs] = SPEEDS[speed]
  const fns = ['f', 'g', 'any', 'h+1', 'any+2'].slice(0, random.whole(1, 5))
  return {
    fns,
    minMs,
    maxMs,
    unevenness: speed === 'uneven' ? 0.15 : 0,
    isMany: speed === 'uneven' && random.chance(0.5),
    maxPad: random.pick([50, 500, 20_000]),
    trouble: random.pick([0, 0, 0.1, 0.4]),
    nesting: random.pick([0, 0, 0.3]),
  }
}

function makeAgents(random: Random): AgentPlan[] {
  return Array.from({ length: random.whole(1, 3) }, (_, index) => ({
    startMs: index === 0 ? 0 : random.spread(0.1, 3_000),
    workers: random.whole(1, 2),
  }))
}

function makePipes(random: Random): PipeSettings {
  const minDelayMs = random.pick([0.05, 0.05, 0.5, 20])
  return {
    minDelayMs,
    maxDelayMs: minDelayMs * random.pick([1, 2, 10]),
    bytesPerMs: 100_000,
    windowBytes: 256 * 1024,
    highWaterMarkBytes: 64 * 1024,
    readGapMs: 0,
  }
}

/** Some hosts read slowly, or have a narrow uplink. */
function slowHosts(
  random: Random,
  pipes: PipeSettings,
  hosts: readonly string[],
): Readonly<Record<string, PipeSettings>> {
  if (!random.chance(0.2)) return {}
  const host = random.pick(hosts)
  const slow = random.chance(0.5)
    ? { readGapMs: random.spread(0.5, 50), windowBytes: 2_000, highWaterMarkBytes: 2_000 }
    : { bytesPerMs: random.spread(10, 100), windowBytes: 8_000, highWaterMarkBytes: 4_000 }
  return { [host]: { ...pipes, ...slow } }
}

function makeSettings(random: Random): Pick<Scenario, 'scheduler' | 'worker' | 'client'> {
  const inlineLimitBytes = random.pick([50, 400, 8_192])
  const { scheduler, worker } = makeRareSettings(random.fork('rare settings'))
  return {
    scheduler: {
      ...scheduler,
      storage: makeStorage(random.fork('storage')),
      clientTimeoutMs: 60_000,
      workerTimeoutMs: 60_000,
      workerSilenceMs: 5_000,
      loadBalanceMs: random.pick([1_000, 100, 0]),
      perWorkerQueueSize: random.pick([1_000, 1_000, 2, 1]),
      maxNumberOfTasksWaiting: random.chance(0.1) ? random.int(5) : -1,
      isProtected: false,
      graphStepsPerTurn: random.pick([24_000, 100, 20]),
    },
    worker: {
      ...worker,
      heartbeatIntervalMs: random.pick([2_000, 2_000, 2_000, 500]),
      deathTimeoutMs: random.pick([300_000, 300_000, 45_000]),
      inlineLimitBytes,
      cancelGraceMs: random.pick([1_000, 50, 0]),
      objectCacheBytes: random.pick([1e9, 1e9, 3_000]),
      drainMs: random.pick([0, 100, 30_000]),
    },
    client: {
      timeoutMs: random.pick([60_000, 60_000, 8_000]),
      heartbeatIntervalMs: 2_000,
      inlineLimitBytes,
    },
  }
}

/** Sometimes memory is full, and content moves to disk, where there is always room. */
function makeStorage(random: Random): StorageLimits {
  if (random.chance(0.7)) return NO_LIMITS
  const memoryBytes = random.pick([1, 300, 3_000])
  return { memoryBytes, diskBytes: 2 ** 50, quotaBytes: Infinity, minMovedBytes: 1 }
}

/** Options that few clusters set. */
function makeRareSettings(random: Random): {
  readonly scheduler: Partial<SchedulerSettings>
  readonly worker: Partial<WorkerSettings>
} {
  return {
    scheduler: {
      objectRetentionMs: random.pick([0, 0, 0, 200, 5_000]),
      loadBalanceTriggerTimes: random.pick([2, 2, 1, 10]),
    },
    worker: {
      taskTimeoutMs: random.chance(0.1) ? Math.ceil(random.spread(200, 20_000)) : 0,
      garbageCollectIntervalMs: random.pick([0, 30_000, 1_000]),
      trimMemoryThresholdBytes: random.pick([0, 1e9]),
    },
  }
}

function makeClients(random: Random, taste: Taste): ClientPlan[] {
  const sharing = random.fork('sharing')
  const plans = Array.from({ length: random.whole(1, 3) }, (_, number) => ({
    startMs: number === 0 ? 0 : random.spread(0.1, 1_000),
    steps: makeSteps(random, taste, number),
  }))
  return sharing.chance(0.25) ? withSharing(sharing, taste, plans) : plans
}

/** One of the clients shares an object, which all of them look for and use. */
function withSharing(random: Random, taste: Taste, plans: readonly ClientPlan[]): ClientPlan[] {
  const owner = random.int(plans.length)
  const bytes = random.whole(20, 2_000)
  return plans.map(({ startMs, steps }, number) => {
    const name = 'shared'
    const more: Step[] = []
    let atMs = random.spread(0.1, 1_000)
    if (number === owner) {
      const isReplicated = random.fork('replicas').chance(0.4)
      more.push({ type: 'share', atMs, name, bytes, isReplicated })
      if (random.chance(0.3)) more.push({ type: 'unpin', atMs: random.spread(1, 10_000), name })
    } else {
      more.push({ type: 'find', atMs, name, bytes })
      if (random.chance(0.2)) more.push({ type: 'find', atMs: atMs + 500, name, bytes })
    }
    for (let index = random.whole(1, 6); index > 0; index -= 1) {
      atMs += random.spread(1, 2_000)
      const program = makeProgram(random, taste, `c${number}s${index}`, 1)
      more.push({ type: 'submit', atMs, program, needs: [name], wish: makeWish(random) })
    }
    if (random.chance(0.2)) more.push({ type: 'unpin', atMs, name })
    if (random.chance(0.1)) more.push({ type: 'removeName', atMs, name })
    return { startMs, steps: [...steps, ...more] }
  })
}

/** The submissions of a client so far. */
interface Made {
  readonly names: string[]
  readonly graphs: string[]
  readonly pins: string[]
}

function makeSteps(random: Random, taste: Taste, client: number): Step[] {
  const steps: Step[] = []
  const made: Made = { names: [], graphs: [], pins: [] }
  const gapMs = random.pick([0, 0.1, 10, 300])
  const count = taste.isMany ? random.whole(10, 30) : random.whole(1, 8)
  let atMs = 0
  for (let index = 0; index < count; index += 1) {
    if (random.chance(0.6)) atMs += gapMs * random.between(0, 2)
    const kind = random.weighted({
      submit: 8,
      run: 2,
      graph: 3,
      cancel: 2,
      pin: 1,
      unpin: 0.5,
      clear: 0.2,
    })
    steps.push(...makeStep(random, { kind, atMs, name: `c${client}t${index}`, taste, made }))
  }
  if (random.chance(0.1)) steps.push({ type: 'close', atMs: atMs + random.spread(0.1, 3_000) })
  return steps
}

interface StepFacts {
  readonly kind: 'submit' | 'run' | 'graph' | 'cancel' | 'pin' | 'unpin' | 'clear'
  readonly atMs: number
  readonly name: string
  readonly taste: Taste
  readonly made: Made
}

function makeStep(random: Random, facts: StepFacts): Step[] {
  const { kind, atMs, name, taste, made } = facts
  switch (kind) {
    case 'submit': {
      const needs = pickNeeds(random, made)
      made.names.push(name)
      const program = makeProgram(random, taste, name, 2)
      return [{ type: 'submit', atMs, program, needs, wish: makeWish(random) }]
    }
    case 'run': {
      const programs = makeRun(random, taste, name)
      made.names.push(...programs.map((program) => program.name))
      return [{ type: 'run', atMs, name, programs, wish: makeWish(random) }]
    }
    case 'graph':
      return [makeGraph(random, facts)]
    case 'cancel':
      return makeCancels(random, made, atMs)
    case 'pin':
      made.pins.push(name)
      return [{ type: 'pin', atMs, name, bytes: random.whole(20, 2_000) }]
    case 'unpin': {
      const pin = made.pins.pop()
      return pin === undefined ? [] : [{ type: 'unpin', atMs, name: pin }]
    }
    case 'clear':
      return [{ type: 'clear', atMs }]
    default:
      return []
  }
}

function pickNeeds(random: Random, { names, pins }: Made): string[] {
  const all = [...names, ...pins]
  if (all.length === 0 || random.chance(0.6)) return []
  return Array.from({ length: random.whole(1, 2) }, () => random.pick(all))
}

function makeGraph(random: Random, facts: StepFacts): Step {
  return random.fork('layers').chance(0.3) ? makeLayers(random, facts) : makeMixed(random, facts)
}

/** Layers of short nodes of one function, which are sent in runs. */
function makeLayers(random: Random, { atMs, name, taste, made }: StepFacts): Step {
  const width = random.whole(2, 30)
  const layers = random.whole(1, 4)
  const options = makeProgram(random, taste, name, 0)
  const ms = random.spread(0.001, 0.3)
  const nodes: NodePlan[] = []
  for (let index = 0; index < width * layers; index += 1) {
    const before = index - width
    const { retries, failsFirst, deathLimit, priority } = options
    const isOdd = random.chance(0.05)
    const program = {
      ...makeProgram(random, { ...taste, trouble: isOdd ? 0.5 : 0 }, `${name}n${index}`, 0),
      fn: 'layer',
      retries,
      failsFirst: isOdd ? failsFirst : 0,
      deathLimit,
      priority,
      timeoutMs: 0,
      abortMs: -1,
      ms: isOdd ? ms * 1_000 : ms,
    }
    const beside = before - (before % width) + ((before + 1) % width)
    const inner = before < 0 ? [] : [`${name}n${before}`, `${name}n${beside}`]
    const outer = random.chance(0.05) ? pickNeeds(random, made) : []
    const isTarget = index >= width * (layers - 1) || random.chance(0.1)
    const wish = isTarget ? makeWish(random) : WANTED
    nodes.push({ program, needs: [...new Set(inner), ...outer], isTarget, wish })
  }
  made.graphs.push(name)
  made.names.push(...nodes.filter(({ isTarget }) => isTarget).map(({ program }) => program.name))
  return { type: 'graph', atMs, name, nodes }
}

function makeMixed(random: Random, { atMs, name, taste, made }: StepFacts): Step {
  const chain = random.fork('chain')
  const isChain = chain.chance(0.3)
  const count = isChain ? chain.whole(3, 12) : random.whole(1, 6)
  // The node that may fail at first, or exceed the time limit.
  const oddIndex = isChain && chain.chance(0.5) ? chain.int(count) : 0
  const depth = isChain && chain.chance(0.3) ? 1 : 0
  const options = makeProgram(random, taste, name, 0)
  const { retries, failsFirst, timeoutMs, deathLimit, priority } = options
  const nodes: NodePlan[] = []
  for (let index = 0; index < count; index += 1) {
    const nodeName = `${name}n${index}`
    const before = nodes.map(({ program }) => program.name)
    const inner = isChain ? before.slice(-1) : before.filter(() => random.chance(0.4))
    const outer = random.chance(isChain ? 0.05 : 0.2) ? pickNeeds(random, made) : []
    const any = makeProgram(random, taste, nodeName, depth)
    // Short ones of one function, which are sent together.
    const made1 = isChain ? { ...any, fn: 'link', ms: chain.spread(0.01, 2) } : any
    const isOdd = index === oddIndex
    const program = {
      ...made1,
      ms: timeoutMs === 0 ? made1.ms : isOdd ? options.ms : Math.min(made1.ms, timeoutMs / 4),
      retries,
      failsFirst: isOdd ? failsFirst : 0,
      timeoutMs,
      deathLimit,
      priority,
    }
    const isTarget = random.chance(0.4) || index === count - 1
    nodes.push({
      program,
      needs: [...inner, ...outer],
      isTarget,
      wish: isTarget ? makeWish(random) : WANTED,
    })
  }
  made.graphs.push(name)
  made.names.push(...nodes.filter(({ isTarget }) => isTarget).map(({ program }) => program.name))
  return { type: 'graph', atMs, name, nodes }
}

/** Sometimes immediately, sometimes later, sometimes twice. */
function makeCancels(random: Random, made: Made, now: number): Step[] {
  const atMs = random.chance(0.4) ? now : now + random.spread(0.1, 1_000)
  const isGraph = made.graphs.length > 0 && random.chance(0.5)
  const names = isGraph ? made.graphs : made.names
  if (names.length === 0) return []
  const step: Step = { type: isGraph ? 'cancelGraph' : 'cancel', atMs, name: random.pick(names) }
  return random.chance(0.2) ? [step, step] : [step]
}
