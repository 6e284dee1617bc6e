// What can be found at an address where a scheduler should be, and how each of it is told: what it
// is, and what to look at next. Only texts; how it is found out is in inquiry.ts.

import { unreachable } from '../../base/assert.js'
import type { SchedulerId } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import { formatAddress, type Address } from '../../transport/address.js'
import type { SchedulerReport } from '../../wire/message.js'

/** What is there. `remote` is the peer for people: `127.0.0.1 port 2345`. */
export type ConnectFinding =
  /** The name has no address. `isTemporary`: the name server could not be asked. */
  | { readonly kind: 'nameNotFound'; readonly host: string; readonly isTemporary: boolean }
  | { readonly kind: 'refused'; readonly remote: string }
  /** No way there, or not allowed: the system says why. */
  | { readonly kind: 'unreachable'; readonly reason: string }
  /** Of a socket file: it does not exist, or may not be opened. */
  | { readonly kind: 'noSocketFile'; readonly path: string }
  | { readonly kind: 'noPermission'; readonly path: string }
  /** Not even a refusal came. */
  | { readonly kind: 'noAnswer'; readonly remote: string }
  /** A connection, and nothing more. */
  | { readonly kind: 'silent'; readonly remote: string }
  | { readonly kind: 'closed'; readonly remote: string; readonly reason: string }
  /** Something came that is not ZeroMQ. `protocol` is a guess, `excerpt` its beginning. */
  | { readonly kind: 'foreign'; readonly protocol: string | undefined; readonly excerpt: string }
  | { readonly kind: 'oldZmtp'; readonly major: number }
  | { readonly kind: 'mechanism'; readonly name: string }
  | { readonly kind: 'halfHandshake'; readonly remote: string }
  /** The handshake broke a rule of ZMTP, or the peer said that it does not want us. */
  | { readonly kind: 'brokenHandshake'; readonly reason: string }
  /** ZeroMQ of another kind: a PUB is what monitors connect to. */
  | { readonly kind: 'wrongSocket'; readonly socketType: string }
  /** The right kind of socket; more was not asked, or nothing came. */
  | { readonly kind: 'router'; readonly remote: string; readonly wasAsked: boolean }
  /** The right kind of socket, which does not speak as a scheduler does. */
  | { readonly kind: 'notScaler'; readonly reason: string }
  | { readonly kind: 'scheduler'; readonly answer: SchedulerAnswer }

/** What a scheduler has told. */
export interface SchedulerAnswer {
  readonly remote: string
  /** '' = a 1.9.9 scheduler. */
  readonly schedulerId: SchedulerId
  readonly features: number
  /** Of each heartbeat, in milliseconds. */
  readonly roundTripsMs: readonly number[]
  /** What it says of itself; undefined of a 1.9.9 one. */
  readonly report: TimedReport | undefined
  /** The last that it has said of itself. */
  readonly last: SchedulerReport | undefined
}

/** A report, and when it was made: the quickest of several says it best. */
export interface TimedReport {
  readonly report: SchedulerReport
  /** Half way between question and answer. */
  readonly at: InstantMs
  readonly roundTripMs: number
}

/** A finding in words, without a full stop. */
export interface FindingText {
  readonly what: string
  /** What to look at, or ''. */
  readonly advice: string
}

/** Monitors are two ports up from the scheduler, unless told otherwise. */
const MONITOR_PORT_OFFSET = 2

/** Whether trying again cannot help: somebody else lives there. */
export function isFinal({ kind }: ConnectFinding): boolean {
  return FINAL_KINDS.has(kind)
}

const FINAL_KINDS: ReadonlySet<ConnectFinding['kind']> = new Set([
  'foreign',
  'oldZmtp',
  'mechanism',
  'wrongSocket',
  'notScaler',
] as const)

/** Where the scheduler is likely to be whose monitors' address this is. */
export function schedulerBeside(address: Address): Address | undefined {
  if (address.kind === 'ipc') {
    const path = address.path.replace(/\.monitor$/, '')
    return path === address.path ? undefined : { ...address, path }
  }
  const port = address.port - MONITOR_PORT_OFFSET
  return port < 1 ? undefined : { ...address, port }
}

/** Where the monitors of a scheduler are, unless it was told otherwise. */
export function monitorBeside(address: Address): Address | undefined {
  if (address.kind === 'ipc') return { ...address, path: `${address.path}.monitor` }
  const port = address.port + MONITOR_PORT_OFFSET
  return port > 65_535 ? undefined : { ...address, port }
}

/** What was found at `address` after so much time, in words. */
export function describeFinding(
  finding: ConnectFinding,
  address: Address,
  elapsedMs: number,
): FindingText {
  switch (finding.kind) {
    case 'nameNotFound':
      return describeName(finding)
    case 'refused':
    case 'unreachable':
    case 'noSocketFile':
    case 'noPermission':
    case 'noAnswer':
      return describeRoad(finding, address, elapsedMs)
    case 'silent':
    case 'closed':
    case 'foreign':
    case 'oldZmtp':
    case 'mechanism':
    case 'halfHandshake':
    case 'brokenHandshake':
      return describeStranger(finding, elapsedMs)
    case 'wrongSocket':
      return describeSocket(finding.socketType, address)
    case 'router':
    case 'notScaler':
    case 'scheduler':
      return describeRouter(finding, elapsedMs)
    default:
      return unreachable(finding)
  }
}

type Finding<Kind extends ConnectFinding['kind']> = Extract<ConnectFinding, { kind: Kind }>

function describeName({ host, isTemporary }: Finding<'nameNotFound'>): FindingText {
  if (isTemporary) {
    const what = `the name ${host} could not be looked up: the name server does not answer`
    return { what, advice: 'check the network, or use the number of the host' }
  }
  return { what: `the name ${host} is not known here`, advice: 'check its spelling' }
}

type Road = Finding<'refused' | 'unreachable' | 'noSocketFile' | 'noPermission' | 'noAnswer'>

function describeRoad(finding: Road, address: Address, elapsedMs: number): FindingText {
  switch (finding.kind) {
    case 'refused': {
      const question = address.kind === 'tcp' ? ', and is this its port?' : '?'
      return {
        what: `connection refused: nothing listens at ${finding.remote}`,
        advice: `is the scheduler started${question}`,
      }
    }
    case 'unreachable':
      return { what: `there is no way there: ${finding.reason}`, advice: '' }
    case 'noSocketFile':
      return {
        what: `there is no socket file ${finding.path}`,
        advice: 'is the scheduler started, on this machine?',
      }
    case 'noPermission':
      return { what: `${finding.path} may not be opened by this user`, advice: '' }
    case 'noAnswer':
      return {
        what: `no answer from ${finding.remote} within ${seconds(elapsedMs)}, not even a refusal`,
        advice: 'is the host on, and does a firewall let this port through?',
      }
    default:
      return unreachable(finding)
  }
}

type Stranger = Finding<
  'silent' | 'closed' | 'foreign' | 'oldZmtp' | 'mechanism' | 'halfHandshake' | 'brokenHandshake'
>

function describeStranger(finding: Stranger, elapsedMs: number): FindingText {
  switch (finding.kind) {
    case 'silent':
      return {
        what: `${finding.remote} takes connections, but nothing came within ${seconds(elapsedMs)}`,
        advice: 'is it a scheduler, and is it running (not stopped, not busy)?',
      }
    case 'closed': {
      const why = finding.reason === '' ? '' : ` (${finding.reason})`
      return {
        what: `${finding.remote} closes the connection without a word${why}`,
        advice: 'is it a scheduler?',
      }
    }
    case 'foreign': {
      const guess = finding.protocol === undefined ? '' : ` but ${finding.protocol}`
      return {
        what: `what answers is not ZeroMQ${guess}: it sent ${finding.excerpt}`,
        advice: 'is this the right port?',
      }
    }
    case 'oldZmtp':
      return {
        what: `the peer speaks ZeroMQ's protocol in version ${finding.major}; 3.0 is needed`,
        advice: '',
      }
    case 'mechanism':
      return {
        what: `the peer wants ${finding.name} security, which is not spoken here`,
        advice: 'is it a scheduler?',
      }
    case 'halfHandshake':
      return {
        what: `${finding.remote} began to speak ZeroMQ and stopped within ${seconds(elapsedMs)}`,
        advice: 'is it running (not stopped, not busy)?',
      }
    case 'brokenHandshake':
      return { what: `the ZeroMQ handshake failed: ${finding.reason}`, advice: '' }
    default:
      return unreachable(finding)
  }
}

function describeSocket(socketType: string, address: Address): FindingText {
  if (socketType !== 'PUB' && socketType !== 'XPUB') {
    const what = `a ZeroMQ ${socketType} answers, where a scheduler has a ROUTER`
    return { what, advice: 'is this the right port?' }
  }
  const scheduler = schedulerBeside(address)
  const where = scheduler === undefined ? '' : `, most likely ${formatAddress(scheduler)}`
  return {
    what: `a ZeroMQ ${socketType} answers: this is an address for monitors`,
    advice: `use that of the scheduler${where}`,
  }
}

function describeRouter(
  finding: Finding<'router' | 'notScaler' | 'scheduler'>,
  elapsedMs: number,
): FindingText {
  switch (finding.kind) {
    case 'router':
      return {
        what: finding.wasAsked
          ? `a ZeroMQ ROUTER at ${finding.remote} gave no answer within ${seconds(elapsedMs)}`
          : `a ZeroMQ ROUTER at ${finding.remote} takes connections, but gave no answer`,
        advice: 'is it a scheduler of a known version, and is it running (not stopped, not busy)?',
      }
    case 'notScaler':
      return {
        what: `the answer is not that of a scheduler that is known here: ${finding.reason}`,
        advice: 'is it another program, or a Scaler with another protocol than 1.9.9?',
      }
    case 'scheduler':
      return { what: `a scheduler at ${finding.answer.remote}`, advice: '' }
    default:
      return unreachable(finding)
  }
}

function seconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`
}
