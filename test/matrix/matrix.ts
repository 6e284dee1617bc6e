// Runs the cases in environments and gathers their reports.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lacksOf, type Environment } from './environment.js'
import type { Report } from './kit/case.js'
import type { Order } from './kit/run-cases.js'
import { nodeOf, peerFile, tsxFlags } from './peer.js'
import type { Workplace } from './workplace.js'

/** A program that runs longer has failed. Generous. */
const DEADLINE_MS = 240_000

/** The request to an environment. */
export interface Asked {
  readonly mode: Order['mode']
  readonly hasSmoke: boolean
  /** Only cases with one of these words in their name; all if there are none. */
  readonly words: readonly string[]
}

/** The outcome of an environment. */
export interface EnvironmentReport {
  readonly environment: Environment
  /** Undefined if the program has not finished. */
  readonly report: Report | undefined
  /** The output of the program. */
  readonly output: string
  readonly durationMs: number
}

/** Runs the program in one environment. Rejects if its files cannot be made. */
export async function runEnvironment(
  workplace: Workplace,
  environment: Environment,
  asked: Asked,
): Promise<EnvironmentReport> {
  const folder = await workplace.folderOf(environment.tree)
  const begun = performance.now()
  const order: Order = {
    ...asked,
    folder,
    report: workplace.newReport(),
    farFolder: workplace.farFolder,
    lacks: lacksOf(environment.tree),
  }
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...inherited } = process.env
  const tmp = workplace.tmpFolder
  const env = { ...inherited, TMPDIR: tmp, TEMP: tmp, TMP: tmp, MATRIX: JSON.stringify(order) }
  const output = await outputOf(nodeOf(environment.node), argumentsOf(environment, folder), {
    cwd: folder,
    env,
  })
  const report = existsSync(order.report)
    ? (JSON.parse(readFileSync(order.report, 'utf8')) as Report)
    : undefined
  return { environment, report, output, durationMs: performance.now() - begun }
}

function argumentsOf({ tree, runner, flags }: Environment, folder: string): readonly string[] {
  const main = join(folder, tree.make.kind === 'source' ? 'main.ts' : 'main.js')
  if (runner === undefined) return [...(flags ?? []), main]
  if (runner === 'tsx') return [...tsxFlags(), main]
  const vitest = peerFile(runner, 'node_modules/vitest/vitest.mjs')
  return [vitest, 'run', '--root', folder, '--globals', '--pool', 'forks', '--reporter', 'dot']
}

/** Runs a program to its end and returns its output. */
function outputOf(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      ...options,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: DEADLINE_MS,
      killSignal: 'SIGKILL',
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
    }
    child.on('error', (error) => resolve(String(error)))
    child.on('close', (code, signal) => resolve(`${output}\nexit ${code ?? signal}`))
  })
}
