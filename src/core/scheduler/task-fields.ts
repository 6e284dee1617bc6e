// What lines of the log call a task.

import { taskLogFields } from '../../base/ids.js'
import type { LogFields } from '../../base/logger.js'
import { spokenName } from '../../wire/object-content.js'
import type { ObjectEntry, TaskEntry } from './entries.js'

/** What a line about a task says of it. */
export function taskFields(task: TaskEntry): LogFields {
  return taskLogFields(task.id, titleOf(task.extra?.name ?? '', task.function))
}

/** For people: '' where neither the task nor its function has a name. */
export function titleOf(name: string, fn: ObjectEntry | undefined): string {
  return name === '' && fn !== undefined ? spokenName(fn.name) : name
}
