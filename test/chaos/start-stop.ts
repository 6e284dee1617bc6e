// Starts schedulers, agents and programs with a cluster of their own, and ends them with every
// signal at random moments: while they start, while they work, while they stop.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { environment, nothingLeft } from './cluster.js'
import { Program, commandPath, type ProgramEnd } from './program.js'
import { Random } from './random.js'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGKILL'] as const
type EndSignal = (typeof SIGNALS)[number]

const COMBO = fileURLToPath(new URL('./program/combo-at-work.js', import.meta.url))

/** Between the start and the signal: from nothing loaded to full work. */
const LIFE_MS = 1_200
/** The exit codes of a command that was asked to end. */
const SIGNAL_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143 }
/** A command that was asked to end and is still running after this time has failed. */
const END_MS = 20_000

/** The options. */
export interface StartStopOptions {
  readonly rounds: number
  readonly seed: number
  /** For temporary files; must be empty, and is empty again at the end. */
  readonly folder: string
}

/** The counts. */
export interface StartStopOutcome {
  /** Ports that schedulers had. */
  readonly ports: readonly number[]
  readonly signals: ReadonlyMap<string, number>
}

/** Rejects if a process or a file is left, or if a process exits other than requested. */
export async function startAndStop(options: StartStopOptions): Promise<StartStopOutcome> {
  const random = new Random(options.seed)
  const outcome = { ports: [] as number[], signals: new Map<string, number>() }
  for (let round = 0; round < options.rounds; round += 1) {
    const stop = (program: Program): Promise<void> => {
      const signal = random.pick(SIGNALS)
      outcome.signals.set(signal, (outcome.signals.get(signal) ?? 0) + 1)
      return stopWith(program, signal, random.chance(0.2))
    }
    if (random.chance(0.3)) await comboRound(options.folder, random, stop)
    else outcome.ports.push(...(await commandRound(options.folder, random, stop)))
    await nothingLeft(options.folder)
  }
  return outcome
}

type Stop = (program: Program) => Promise<void>

/** A scheduler and an agent, ended in either order. */
async function commandRound(folder: string, random: Random, stop: Stop): Promise<number[]> {
  const env = environment(folder)
  const args = [commandPath('scaler-scheduler'), 'tcp://127.0.0.1:0']
  const scheduler = new Program('scheduler', args, env)
  const programs = [scheduler]
  const ports: number[] = []
  // Some are ended before their first output.
  if (random.chance(0.8)) {
    const line = await scheduler.line((each) => 'address' in each)
    const address = String(line['address'])
    ports.push(Number(new URL(address).port))
    const workers = ['-n', String(1 + random.below(2)), address]
    programs.push(new Program('agent', [commandPath('scaler-cluster'), ...workers], env))
  }
  await delay(random.below(LIFE_MS))
  if (random.chance(0.5)) programs.reverse()
  if (random.chance(0.3)) await Promise.all(programs.map(stop))
  else for (const program of programs) await stop(program)
  return ports
}

/** A program with a cluster of its own, working. */
async function comboRound(folder: string, random: Random, stop: Stop): Promise<void> {
  const program = new Program('combo', [COMBO], environment(folder))
  await delay(random.below(LIFE_MS))
  await stop(program)
}

async function stopWith(program: Program, signal: EndSignal, isTwice: boolean): Promise<void> {
  program.signal(signal)
  if (isTwice) program.signal(signal)
  const end = await inTime(program)
  const what = `${program.name} after ${signal}: ${JSON.stringify(end)} ${program.stderr}`
  // Before it has installed handlers, the system ends it.
  if (end.signal !== null) assert.equal(end.signal, signal, what)
  else assert.equal(end.code, SIGNAL_CODES[signal], what)
}

async function inTime(program: Program): Promise<ProgramEnd> {
  const timer = setTimeout(() => program.signal('SIGKILL'), END_MS)
  const end = await program.ended
  clearTimeout(timer)
  return end
}
