// How to start workers for the tasks that wait: the same words in warnings, explanations, and the
// reports of commands.

import { withTlsFlags } from '../runtime/child-environment.js'

/** Which workers run a task: those of this package, or those of Python Scaler. */
export type TaskRuntime = 'javascript' | 'python'

/** Their names. */
export const LANGUAGES: Readonly<Record<TaskRuntime, string>> = {
  javascript: 'JavaScript',
  python: 'Python',
}

/** Both packages have a command of this name. */
const PYTHON_NOTE = ' (the command of Python Scaler)'

/**
 * The command that starts workers for tasks of a runtime. `flags`: begin with a space, or are
 * empty; only for workers of this package.
 */
export function workerCommand(runtime: TaskRuntime, address: string, flags = ''): string {
  if (runtime === 'python') return `scaler_cluster ${address}${PYTHON_NOTE}`
  return `scaler_cluster${flags} ${withTlsFlags(address)}`
}

/**
 * How to start workers for tasks of these runtimes, without a full stop. If there are no tasks: for
 * those of this package.
 */
export function startWorkersText(
  runtimes: Iterable<TaskRuntime>,
  address: string,
  flags = '',
): string {
  const all = new Set(runtimes)
  if (all.size === 0) all.add('javascript')
  const parts = (['javascript', 'python'] as const).flatMap((runtime) => {
    const command = workerCommand(runtime, address, flags)
    return all.has(runtime) ? [`${LANGUAGES[runtime]} workers: ${command}`] : []
  })
  return `start ${parts.join(', and ')}`
}
