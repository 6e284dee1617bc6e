// The runnable parts of a page, in order: programs, files that later blocks use, commands.

import type { CodeBlock } from './markdown.js'

/** A command of a transcript, and its output. */
export interface Exchange {
  readonly command: string
  readonly expected: readonly string[]
  /** It keeps running: a server, the last of its block, and its output ends with a line `…`. */
  readonly staysOpen: boolean
  /** Its exit code is ignored: the next command is `echo $?`. */
  readonly mayFail: boolean
}

/** Only its form is checked: it needs programs that tests do not have. */
export type Foreign = 'json' | 'python' | 'bullmq'

/** A step of a page. */
export type Step = { readonly title: string } & (
  | { readonly kind: 'file'; readonly name: string; readonly text: string }
  | { readonly kind: 'program'; readonly text: string }
  | { readonly kind: 'script'; readonly text: string }
  | { readonly kind: 'transcript'; readonly exchanges: readonly Exchange[] }
  | { readonly kind: 'settings'; readonly text: string }
  | { readonly kind: 'foreign'; readonly language: Foreign; readonly text: string }
)

/**
 * The steps of the blocks of a page. A block that begins with a comment with the name of a file
 * (`// sum.mjs`, `# scaler.toml`) is that file. ` ```ts continued ` continues the program before.
 * Throws for a language that no test would run: each block has to be correct.
 */
export function stepsOf(blocks: readonly CodeBlock[]): Step[] {
  const steps: Step[] = []
  for (const block of blocks) {
    const last = steps.at(-1)
    if (block.words.includes('continued')) {
      if (last?.kind !== 'program') throw new Error(`line ${block.line}: nothing to continue`)
      steps[steps.length - 1] = { ...last, text: last.text + block.text }
    } else {
      const step = stepOf(block)
      if (step !== undefined) steps.push(step)
    }
  }
  return steps
}

function stepOf(block: CodeBlock): Step | undefined {
  const { text, section, line } = block
  const language = block.words.includes('bullmq') ? 'bullmq' : block.language
  const title = `${section} (line ${line})`
  const name = /^(?:\/\/|#) ([\w./-]+\.\w+)\n/.exec(text)?.[1]
  switch (language) {
    case 'ts':
    case 'js':
      return name === undefined
        ? { title, kind: 'program', text }
        : { title, kind: 'file', name, text }
    case 'sh':
      // Commands for a clone either run this test, or have a test of their own.
      if (block.words.includes('clone')) return undefined
      return { title, kind: 'script', text }
    case 'console':
      return { title, kind: 'transcript', exchanges: exchangesOf(text) }
    case 'toml':
      return name === undefined
        ? { title, kind: 'settings', text }
        : { title, kind: 'file', name, text }
    case 'json':
    case 'python':
    case 'bullmq':
      return { title, kind: 'foreign', language, text }
    case 'text':
      // A screen as it was at one moment: it is drawn by tests of its own.
      if (block.words.includes('screen') || block.words.includes('drawing')) return undefined
      // From a log, or with programs that are not there: tests of their own have the same.
      if (block.words.includes('elsewhere')) return undefined
      throw new Error(`line ${line}: nobody would run this text`)
    case '':
      if (/[┌┐└┘│─]/.test(text)) return undefined
      throw new Error(`line ${line}: neither a drawing, nor in a language`)
    default:
      throw new Error(`line ${line}: nobody would run this ${language}`)
  }
}

/** Commands that run until they are stopped. */
const SERVER =
  /\bscaler[ _](?:scheduler|cluster|worker|symphony[_-]cluster|object-storage-server|allocate|run|ui)\b/

/** `$ command`, continuation lines after `> `, and its output. */
function exchangesOf(text: string): Exchange[] {
  const parts = text.split(/^\$ /m)
  if (parts[0] !== '') throw new Error(`a transcript begins with $, not with ${parts[0]}`)
  const found = parts.slice(1).map((part) => {
    const [command = '', ...lines] = part.trimEnd().split('\n')
    const more = lines.findIndex((line) => !line.startsWith('> '))
    const count = more === -1 ? lines.length : more
    const continued = lines.slice(0, count).map((line) => line.slice(2))
    return { command: [command, ...continued].join('\n'), expected: lines.slice(count) }
  })
  return found.map(({ command, expected }, index) => {
    const isLast = index === found.length - 1
    const staysOpen = isLast && SERVER.test(command) && expected.at(-1)?.trim() === '…'
    return {
      command,
      expected: staysOpen ? expected.slice(0, -1) : expected,
      staysOpen,
      mayFail: found[index + 1]?.command === 'echo $?',
    }
  })
}
