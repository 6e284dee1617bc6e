// Worlds that showed an error once, each as small as possible. They are kept as scenarios (found/),
// not as numbers: the meaning of a number changes with the maker of scenarios.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Scenario } from './scenario.js'

/** One world, and its finding. */
export interface Found {
  readonly name: string
  readonly what: string
}

/** All of them, in the order in which they were found. */
export const FOUND: readonly Found[] = [
  {
    name: 'late-echo',
    what: 'a client whose thread was busy sent a task again whose result was on its way',
  },
  {
    name: 'orphans-of-the-dead',
    what: 'children of a process that had died kept killing the next run of their parent, forever',
  },
  {
    name: 'blocked-thread',
    what: 'a client gave up the scheduler before it had read messages that had arrived meanwhile',
  },
  {
    name: 'cancel-too-late',
    what: 'a new scheduler was sent the cancel of a graph that only the old one had',
  },
  {
    name: 'kept-before-clear',
    what: 'a busy processor kept a result before it had read the request to forget everything',
  },
  {
    name: 'restarted-parent',
    what: 'a waiting parent restarted forever: its lost processes were not counted',
  },
  {
    name: 'idle-worker',
    what: 'a task waited behind a long one while another worker had nothing',
  },
  {
    name: 'two-suspects',
    what: 'a candidate that waited for its child kept the other back, which kept the child back',
  },
  {
    name: 'released-target',
    what: 'cancelling a graph ended a target twice that had gone with the user of its result',
  },
  {
    name: 'cancelled-failure',
    what: 'a failed task was cancelled while its error was fetched: its users never ended',
  },
  {
    name: 'gone-holder',
    what: 'a task was given to a worker that had gone, because an object that had gone named it',
  },
  {
    name: 'suspect-without-room',
    what: 'a worker asked for ticks without end, because a candidate had its turn but no room',
  },
  {
    name: 'dirty-rank',
    what: 'workers were put in order while the rank of one had changed and its place had not',
  },
  {
    name: 'answered-cancel',
    what: 'the answer to the cancel of a graph ended a target that ran again: its result was lost',
  },
]

/** The world of a finding. */
export function scenarioOf({ name }: Found): Scenario {
  const here = fileURLToPath(new URL('.', import.meta.url))
  const folder = here.replace(/build([/\\])test/, 'test')
  return JSON.parse(readFileSync(`${folder}found/${name}.json`, 'utf8')) as Scenario
}
