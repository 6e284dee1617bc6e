// `npm run chaos`: its command line. Exit codes: 0 nothing found, 1 something found, 2 wrong usage.

import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DEEDS } from './monkey.js'
import { LOADS } from './program/load.js'
import { story, summary } from './report.js'
import { runChaos, type ChaosOptions } from './run-chaos.js'

const HELP = `Usage: npm run chaos -- [options]

Real commands and clients, and somebody who kills, freezes, restarts and cuts them.

Options:
  --minutes <number>   how long (default: 10)
  --seed <number>      what is done, and to whom (default: chosen at random, and printed)
  --workers <number>   of all agents together (default: 6)
  --allocated          the workers come from an allocator, which is killed and restarted, too
  --starts <number>    starts and stops afterwards (default: 20 for each minute)
  --story              write down what happened, even if nothing was found
  --without <faults>   leave these out, by commas: ${Object.keys(DEEDS).join(' | ')}
  --work <kinds>       clients have only this, by commas: ${Object.keys(LOADS).join(' | ')}
  --help               print this help and exit

Examples:
  npm run chaos -- --minutes 10
  npm run chaos -- --minutes 1 --seed 7 --without 'dead link,dead network'
  npm run chaos -- --minutes 5 --allocated
`

class UsageError extends Error {}

function numberOf(name: string, text: string | undefined, fallback: number, max: number): number {
  if (text === undefined) return fallback
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (value >= 0 && value <= max) return value
  throw new UsageError(`--${name}: expected a number from 0 to ${max}, got ${text}`)
}

function wholeOf(name: string, text: string | undefined, fallback: number, max: number): number {
  const value = numberOf(name, text, fallback, max)
  if (Number.isInteger(value)) return value
  throw new UsageError(`--${name}: expected a whole number, got ${text}`)
}

/** Names separated by commas, each of them known. */
function namesOf<Name extends string>(
  option: string,
  text: string | undefined,
  known: Readonly<Record<Name, unknown>>,
): Name[] {
  const names = (text ?? '').split(',').map((name) => name.trim())
  return names
    .filter((name) => name !== '')
    .map((name) => {
      if (!Object.hasOwn(known, name)) throw new UsageError(`--${option}: there is no ${name}`)
      return name as Name
    })
}

/** The options; undefined if help is requested. Throws `UsageError`. */
function optionsOf(args: readonly string[]): (ChaosOptions & { isTold: boolean }) | undefined {
  const names = ['minutes', 'seed', 'workers', 'starts', 'without', 'work'] as const
  const text = { type: 'string' } as const
  const options = {
    ...Object.fromEntries(names.map((name) => [name, text])),
    allocated: { type: 'boolean' },
    help: { type: 'boolean' },
    story: { type: 'boolean' },
  } as const
  let values: Readonly<Record<string, string | boolean | undefined>>
  try {
    values = parseArgs({ args: [...args], options, strict: true }).values
  } catch (error) {
    throw new UsageError((error as Error).message.replace(/\n.*/s, ''))
  }
  if (values['help'] === true) return undefined
  const given = (name: (typeof names)[number]): string | undefined =>
    values[name] as string | undefined
  const minutes = numberOf('minutes', given('minutes'), 10, 100_000)
  return {
    stormMs: minutes * 60_000,
    seed: wholeOf('seed', given('seed'), Math.floor(Math.random() * 1e9), 2 ** 31),
    workers: wholeOf('workers', given('workers'), 6, 1_000),
    starts: wholeOf('starts', given('starts'), Math.round(20 * minutes), 100_000),
    without: namesOf('without', given('without'), DEEDS),
    work: namesOf('work', given('work'), LOADS),
    onProgress: (line) => console.log(line),
    isAllocated: values['allocated'] === true,
    isTold: values['story'] === true,
  }
}

async function main(): Promise<number> {
  const options = optionsOf(process.argv.slice(2))
  if (options === undefined) {
    process.stdout.write(HELP)
    return 0
  }
  console.log(`seed ${options.seed}`)
  const outcome = await runChaos(options)
  console.log(summary(outcome))
  const isGood = outcome.findings.length === 0
  if (!isGood || options.isTold) {
    const path = join(tmpdir(), `chaos-${options.seed}.txt`)
    writeFileSync(path, story(outcome))
    for (const { text } of outcome.findings.slice(0, 20)) console.error(text)
    console.error(`the whole story is in ${path}`)
  }
  return isGood ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`chaos: ${error.message} (see --help)\n`)
  process.exitCode = 2
}
