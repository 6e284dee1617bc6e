// The terminal of this process, if progress can be shown on it: stderr, for stdout may be what the
// program is run for.

import { ProgressScreen } from './progress-screen.js'

/** Finds out once something is to be shown; one screen, for there is one cursor. */
export class ProcessScreen {
  #screen: ProgressScreen | undefined

  /** Undefined where nothing can be shown, or nobody looks: not a terminal, a dumb one, or CI. */
  get screen(): ProgressScreen | undefined {
    const { stdout, stderr, env } = process
    if (!stderr.isTTY || !isShown(env)) return undefined
    const others = stdout.isTTY ? [stdout] : []
    this.#screen ??= new ProgressScreen({ terminal: stderr, others, isUnicode: isUnicode(env) })
    return this.#screen
  }
}

/** That of this process. */
export const processScreen: ProcessScreen = new ProcessScreen()

/** Whether the environment speaks for somebody who looks at a terminal that can do more. */
export function isShown(env: NodeJS.ProcessEnv): boolean {
  const ci = env['CI']
  return env['TERM'] !== 'dumb' && (ci === undefined || ci === '' || ci === 'false' || ci === '0')
}

/** Whether the terminal shows more than ASCII. */
export function isUnicode(env: NodeJS.ProcessEnv): boolean {
  // Terminals of Windows name no locale.
  if (process.platform === 'win32') return env['WT_SESSION'] !== undefined
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  return /utf-?8/i.test(locale)
}
