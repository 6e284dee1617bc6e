// What keeps a cluster from doing its work, and what to do about it: the first lines of `scaler
// status`, and the second one of `scaler_top`.

import { quoted, sizeText } from '../../base/text.js'
import type {
  ClusterInfo,
  FailureInfo,
  LostWorker,
  LostWorkers,
  ObjectTotals,
  WaitingInfo,
} from '../../client/monitor/cluster-info.js'
import { LANGUAGES, startWorkersText } from '../../client/worker-advice.js'
import { withTlsFlags } from '../../runtime/child-environment.js'
import { countText, grouped, middleCut, plainText } from '../table.js'

/** Something that keeps the cluster from doing its work, and what to do about it. */
export interface StatusProblem {
  readonly what: string
  readonly advice: string
}

/** Turns of the scheduler that take longer hold up everything. */
const LONG_TURN_MS = 100
/** The most kinds of requirements, or hosts, that are named in one sentence. */
const MAX_NAMED = 3
/** Longer names of functions are cut, in columns. */
const MAX_NAME_WIDTH = 40
/** From this share of the tasks that end, failures are a problem of the cluster. */
const FAILING_SHARE = 0.1
/** That many must have failed lately; and that many must end in a second for a share of them. */
const FAILING_MIN = 10
const LATELY_MS = 60_000
/** The cluster's information has no more of them. */
const MAX_FAILURES = 1_000
/** From this share of its limits, the object storage is nearly full. */
const FULL_SHARE = 0.8

/** What is wrong, the worst first. */
export function problemsOf(info: ClusterInfo): readonly StatusProblem[] {
  const { address = 'ADDRESS', turnP99Ms = 0 } = info.scheduler
  const problems: StatusProblem[] = []
  if (info.hosts.every(({ workers }) => workers.length === 0)) {
    if (!isAllocated(info))
      problems.push({ what: 'there are no workers', advice: startAdvice(info.waiting, address) })
  } else {
    for (const kinds of waitingGroups(info.waiting)) {
      const problem = problemOfWaiting(kinds, address)
      if (problem !== undefined) problems.push(problem)
    }
  }
  if (info.lost !== undefined && info.lost.count > 0) problems.push(problemOfLost(info.lost))
  const failing = problemOfFailures(info)
  if (failing !== undefined) problems.push(failing)
  problems.push(...problemsOfStorage(info.objects))
  for (const { address: server, state, problem } of info.storageServers ?? []) {
    if (state !== 'away') continue
    const what = `the object storage server ${plainText(server)} is away (${plainText(problem)})`
    problems.push({ what, advice: 'start it again; until then, objects are stored elsewhere' })
  }
  for (const { name, problem } of info.allocators ?? []) {
    if (problem === '') continue
    const what = `the allocator ${plainText(name)} cannot start workers (${plainText(problem)})`
    problems.push({ what, advice: 'see its log; it tries again on its own' })
  }
  if (turnP99Ms > LONG_TURN_MS) {
    const advice = 'give it a core of its own, or submit fewer and longer tasks'
    problems.push({ what: `the scheduler is overloaded (turns of ${turnP99Ms} ms)`, advice })
  }
  return problems
}

/** Whether workers are about to start, or will once there is work. */
function isAllocated({ allocators = [], waiting }: ClusterInfo): boolean {
  return allocators.some(({ paused, pending, action, room }) => {
    if (paused) return false
    return waiting.length === 0 ? room > 0 : pending > 0 || action === 'start'
  })
}

function* problemsOfStorage(objects: ObjectTotals): Generator<StatusProblem> {
  const { bytes: all = 0, serverBytes = 0, limitBytes = Infinity, diskError = '' } = objects
  const bytes = all - serverBytes
  if (diskError !== '') {
    const what = `objects cannot be moved to disk (${plainText(diskError)})`
    yield { what, advice: 'free space there, or set --object-spill-directory' }
  }
  if (bytes > limitBytes * FULL_SHARE) {
    const what = `the object storage is nearly full (${sizeText(bytes)} of ${sizeText(limitBytes)})`
    const advice = 'see `scaler objects`, or raise --object-memory-limit-bytes'
    yield { what, advice: `${advice} or --object-disk-limit-bytes` }
  }
}

/** Those that differ only in what they require, the largest first; never empty. */
type Kinds = readonly [WaitingInfo, ...WaitingInfo[]]

function waitingGroups(waiting: readonly WaitingInfo[]): Iterable<Kinds> {
  const groups = new Map<string, [WaitingInfo, ...WaitingInfo[]]>()
  for (const kind of waiting) {
    const key = `${kind.reason} ${kind.runtime ?? ''} ${kind.function}`
    const known = groups.get(key)
    if (known === undefined) groups.set(key, [kind])
    else known.push(kind)
  }
  return groups.values()
}

/** Tasks that only wait for workers to become free are no problem. */
function problemOfWaiting(kinds: Kinds, address: string): StatusProblem | undefined {
  const [{ reason, function: name, runtime = 'javascript' }] = kinds
  const count = kinds.reduce((sum, kind) => sum + kind.count, 0)
  const subject = `${countText(count, 'task')}${ofFunction(name)} ${count === 1 ? 'waits' : 'wait'}`
  switch (reason) {
    case 'no-capability':
      return { what: `${subject}: ${lackText(kinds)}`, advice: offerAdvice(kinds, address) }
    case 'no-runtime':
      return {
        what: `${subject}: no worker runs ${LANGUAGES[runtime]}`,
        advice: startAdvice(kinds, address),
      }
    case 'no-worker':
      return {
        what: `${subject}: no worker accepts tasks`,
        advice: startAdvice(kinds, address),
      }
    case 'limit':
      return {
        what: `${subject}: the queue is full`,
        advice: 'add workers, or raise --max-number-of-tasks-waiting',
      }
    default:
      return undefined
  }
}

function ofFunction(name: string): string {
  const shown = middleCut(plainText(name), MAX_NAME_WIDTH)
  return name === '' || name.startsWith('(') ? '' : ` of ${shown}()`
}

/** What no worker offers; of several kinds, what they have in common and in what they differ. */
function lackText(kinds: Kinds): string {
  const [{ requirement }, ...others] = kinds
  if (others.length === 0) return `no worker offers ${plainText(requirement)}`
  const { common, rests } = comparedNeeds(kinds.map((kind) => kind.requirement))
  const all = common.length === 0 ? '' : `, all with ${plainText(common.join(', '))}`
  const few = rests.slice(0, MAX_NAMED).map((rest) => rest.join(' + ') || 'only that')
  const more = rests.length > few.length ? '; …' : ''
  const kindsText = `${grouped(kinds.length)} kinds${all}`
  return `no worker offers what they need (${kindsText}): ${plainText(few.join('; '))}${more}`
}

function offerAdvice(kinds: Kinds, address: string): string {
  const command = `scaler_cluster${capabilityFlag(kinds)} ${withTlsFlags(address)}`
  if (kinds.length === 1) return `start one that does: ${command}`
  return `start workers that do, for example: ${command} (scaler tasks lists all kinds)`
}

/** How to start workers for these tasks. */
function startAdvice(waiting: readonly WaitingInfo[], address: string): string {
  const ours = waiting.filter(({ runtime }) => runtime === undefined)
  const isOne = new Set(ours.map(({ requirement }) => requirement)).size === 1
  const flag = isOne ? capabilityFlag(ours) : ''
  const also = isOne ? '' : alsoNeeded(ours)
  const runtimes = waiting.map(({ runtime }) => runtime ?? 'javascript')
  return `${startWorkersText(runtimes, address, flag)}${also}`
}

function alsoNeeded(waiting: readonly WaitingInfo[]): string {
  const needing = waiting.filter(({ requirement }) => requirement !== '')
  if (needing.length === 0) return ''
  const count = needing.reduce((sum, kind) => sum + kind.count, 0)
  const kinds = new Set(needing.map(({ requirement }) => requirement)).size
  const most = kinds === 1 ? '' : ', most of them'
  const verb = count === 1 ? 'needs' : 'need'
  return `; ${countText(count, 'task')} ${verb} capabilities${most}:${capabilityFlag(needing)}`
}

/** The flag that offers what the first of them requires; empty if that is nothing. */
function capabilityFlag([first]: readonly WaitingInfo[]): string {
  const needs = first === undefined ? [] : needsIn(first.requirement)
  return needs.length === 0 ? '' : ` --capabilities ${quoted(plainText(needs.join(',')))}`
}

/** What the scheduler adds to a requirement that some worker could meet. */
const BESIDES = ', besides what waiting parents hold'

function needsIn(requirement: string): readonly string[] {
  const text = requirement.endsWith(BESIDES) ? requirement.slice(0, -BESIDES.length) : requirement
  return text === '' ? [] : text.split(', ')
}

/** What requirements have in common, and for each of them the rest. */
export function comparedNeeds(requirements: readonly string[]): {
  readonly common: readonly string[]
  readonly rests: readonly (readonly string[])[]
} {
  const [first = [], ...others] = requirements.map(needsIn)
  const common = first.filter((need) => others.every((needs) => needs.includes(need)))
  const rests = [first, ...others].map((needs) => needs.filter((need) => !common.includes(need)))
  return { common, rests }
}

function problemOfLost({ count, workers }: LostWorkers): StatusProblem {
  const gone = workers.filter(({ hasReturned }) => !hasReturned)
  const hosts = new Map<string, number>()
  for (const { host } of gone) hosts.set(host, (hosts.get(host) ?? 0) + 1)
  const named = [...hosts].slice(0, MAX_NAMED).map(([host, lost]) => {
    const where = host === '' ? 'an unknown host' : plainText(host)
    return hosts.size === 1 ? `on ${where}` : `${grouped(lost)} on ${where}`
  })
  const more = hosts.size > named.length ? ', …' : ''
  const [first] = gone
  const name = count === 1 && first !== undefined && first.name !== '' ? first.name : ''
  const who = name === '' ? '' : ` ${plainText(name)}`
  const verb = count === 1 ? 'was' : 'were'
  return {
    what:
      `${countText(count, 'worker')} ${verb} lost in the last 10 minutes:` +
      `${who} ${named.join(', ')}${more} (${lossText(gone)})`,
    advice: 'what they had runs again elsewhere; see whether the host and the agent still run',
  }
}

/** Many tasks fail: which, with what, and where if that is not everywhere. */
function problemOfFailures({
  rates,
  failures,
  hosts,
  time,
  scheduler: { address = 'ADDRESS' },
}: ClusterInfo): StatusProblem | undefined {
  if (rates === undefined) return undefined
  // A share of a few tasks says nothing.
  const isShare = rates.ended >= FAILING_MIN
  if (isShare && rates.failed < rates.ended * FAILING_SHARE) return undefined
  let lately = 0
  const kinds = new Map<string, [FailureInfo, ...FailureInfo[]]>()
  for (const failure of failures) {
    if (time.getTime() - failure.time.getTime() > LATELY_MS) continue
    lately += 1
    const key = `${failure.function} ${failure.errorName}`
    const known = kinds.get(key)
    if (known === undefined) kinds.set(key, [failure])
    else known.push(failure)
  }
  const [worst] = [...kinds.values()].toSorted((a, b) => b.length - a.length)
  if (worst === undefined || worst.length < FAILING_MIN) return undefined
  const atLeast = lately < MAX_FAILURES ? '' : 'at least '
  const fail = isShare
    ? `${Math.round((rates.failed / rates.ended) * 100)} % of tasks fail`
    : `${atLeast}${grouped(lately)} tasks have failed in the last minute`
  const { errorName, message } = worst.at(-1) ?? worst[0]
  const [line = ''] = message.split('\n', 1)
  const error = [errorName, line].filter((text) => text !== '').join(': ')
  const which = `${ofFunction(worst[0].function)}${placeOf(worst, hosts)}`
  const what = `${fail}${which === '' ? '' : `, most${which}`}`
  return {
    what: error === '' ? what : `${what}: ${plainText(error)}`,
    advice: `see scaler failures ${withTlsFlags(address)}`,
  }
}

/** Where tasks fail, if that is on one host of several, or one worker. */
function placeOf(failures: readonly FailureInfo[], hosts: ClusterInfo['hosts']): string {
  const workers = new Set(failures.map(({ worker }) => worker))
  const places = hosts.filter((host) => host.workers.some(({ id }) => workers.has(id)))
  const found = places.flatMap((host) => host.workers.filter(({ id }) => workers.has(id)))
  const [place] = places
  // Some may have left since.
  if (place === undefined || places.length > 1 || found.length < workers.size) return ''
  if (hosts.length > 1) return `, all on ${plainText(place.host)}`
  const [worker] = found
  const isOne = found.length === 1 && place.workers.length > 1
  return isOne && worker !== undefined ? `, all on ${plainText(worker.name || worker.id)}` : ''
}

/** How the losses were noticed. */
function lossText(gone: LostWorkers['workers']): string {
  const causes = new Set(gone.map(({ cause }) => cause))
  return [...causes].map((cause) => LOSS_TEXTS[cause]).join(', ')
}

/** The causes of losses in words. */
export const LOSS_TEXTS: Readonly<Record<LostWorker['cause'], string>> = {
  connection: 'connection closed',
  silence: 'no heartbeat',
}
