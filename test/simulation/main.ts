// `npm run simulate`: runs the machines of scheduler, workers and clients through many seeds, and
// reports the seeds that fail.

import { availableParallelism } from 'node:os'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { Tally } from './campaign.js'
import { runJobs } from './jobs.js'
import { MUTATIONS, type MutationName } from './mutation.js'
import { tellSeed } from './tell-finding.js'

interface CommandLine {
  readonly seed: number
  readonly runs: number
  readonly jobs: number
  readonly lines: number
  readonly tell: boolean
  readonly shrink: boolean
  readonly mutation: MutationName
}

/** The most findings to report; after ten of them a thread stops. */
const MAX_TOLD = 3
const MAX_FINDINGS = 10
const MAX_SEED = 2 ** 31

function commandLine(): CommandLine {
  const mutation = new Option('--mutation <name>', 'make a mistake on purpose').choices(MUTATIONS)
  return new Command('npm run simulate --')
    .description('Run scheduler, workers and clients on a virtual clock and network, from seeds.')
    .option('--seed <number>', 'the first seed; by default a random one', wholeNumber(0), anySeed())
    .option('--runs <number>', 'how many seeds, one after the other', wholeNumber(1), 1_000)
    .option('--jobs <number>', 'threads', wholeNumber(1), availableParallelism())
    .option('--lines <number>', 'lines of a story', wholeNumber(1), 120)
    .option('--tell', 'tell the story of the first seed, whatever comes of it', false)
    .option('--no-shrink', 'tell what fails as it is')
    .addOption(mutation.default('none'))
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
    .parse()
    .opts<CommandLine>()
}

function anySeed(): number {
  return Math.floor(Math.random() * MAX_SEED)
}

function wholeNumber(min: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= min) return value
    throw new InvalidArgumentError(`Expected a whole number, at least ${min}.`)
  }
}

async function main(): Promise<void> {
  const { seed, runs, jobs, lines, tell, shrink: isShrunk, mutation } = commandLine()
  if (tell) {
    console.log(tellSeed(seed, { lines, isShrunk, mutation }))
    return
  }
  console.log(`seeds ${seed} to ${seed + runs - 1}`)
  const begun = performance.now()
  const progress = progressLine(runs)
  const campaign = { firstSeed: seed, runs, mutation, maxFindings: MAX_FINDINGS }
  const tally = await runJobs(campaign, Math.min(jobs, runs), progress)
  console.log(summaryOf(tally, performance.now() - begun))
  for (const { seed: found } of tally.findings.slice(0, MAX_TOLD)) {
    console.log(tellSeed(found, { lines, isShrunk, mutation }))
  }
  for (const { seed: found, message } of tally.findings) {
    console.log(`FAILED seed ${found}: ${message.split('\n')[0]}`)
  }
  if (tally.findings.length > 0) process.exitCode = 1
}

/** On a terminal: the number of runs that are done. */
function progressLine(runs: number): (done: number) => void {
  let done = 0
  return (more) => {
    done += more
    if (process.stdout.isTTY) process.stdout.write(`\r${done} of ${runs} \r`)
  }
}

function summaryOf(tally: Tally, ms: number): string {
  const { runs, events, futures, faults, taskRuns, repeats, overlaps, findings } = tally
  const perMinute = Math.round((runs * 60_000) / ms)
  return [
    `${runs} runs in ${(ms / 1_000).toFixed(1)} s: ${perMinute} a minute`,
    `${events} events, ${faults} faults, ${futures} futures ended`,
    `${taskRuns} task runs, ${repeats} of tasks begun before, ${overlaps} beside another run`,
    `${findings.length} findings`,
  ].join('\n')
}

await main()
