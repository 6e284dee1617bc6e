// Tasks that were over and done with, and have to run again after all: the result of another one
// is lost that was made from theirs. What a task is made of stays in its record for as long as
// somebody has a result that was made from its own.

import { ResultInput, type TaskRecord } from './task-record.js'
import type { TaskTable } from './task-table.js'

/**
 * Adds the tasks to the table that have to run before one can that is in it: they are waiting, and
 * hold nothing. Returns them; undefined if one of them cannot run again. Works for chains of any
 * length.
 */
export function revive<Owner>(
  task: TaskRecord<Owner>,
  tasks: TaskTable<Owner>,
): readonly TaskRecord<Owner>[] | undefined {
  const found = new Set<TaskRecord<Owner>>()
  const open = [task]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const argument of next.args) {
      if (!(argument instanceof ResultInput) || argument.content !== undefined) continue
      const source = argument.task
      if (tasks.has(source) || found.has(source)) continue
      // Only its graph knew what it is made of.
      if (source.graph !== undefined) return undefined
      found.add(source)
      open.push(source)
    }
  }
  const revived = [...found].toReversed()
  for (const source of revived) {
    source.owner = undefined
    source.state = 'waiting'
    source.unready = 0
    tasks.add(source)
  }
  return revived
}
