// What pages say that programs and commands write, compared with what they do write.
//
// `…` stands for anything in a line, and alone in a line for any number of lines. Spaces are any
// number of spaces, times of log lines any time. Pages may show log lines as a terminal does;
// elsewhere they are JSON, which is turned into those here.

import { textFormat } from '#src/runtime/log/line.js'
import type { LogFields } from '#src/base/logger.js'

const TIME = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d{4}/

/** Undefined if the output is as expected; else both, for the message of a failure. */
export function mismatch(expected: readonly string[], output: string): string | undefined {
  const lines = outputLines(output)
  if (areAsExpected(expected, lines)) return undefined
  return `expected:\n${expected.join('\n')}\nwritten:\n${lines.join('\n')}`
}

function outputLines(output: string): string[] {
  const text = output.trimEnd()
  return text === '' ? [] : text.split('\n').map((line) => line.trimEnd())
}

function areAsExpected(expected: readonly string[], lines: readonly string[]): boolean {
  const [first, ...rest] = expected
  if (first === undefined) return lines.length === 0
  if (first.trim() === '…') {
    return lines.some((_, index) => areAsExpected(rest, lines.slice(index))) || rest.length === 0
  }
  const [line, ...others] = lines
  if (line === undefined) return false
  const pattern = patternOf(first)
  const isSame = pattern.test(line) || pattern.test(asOnTerminal(line).trimEnd())
  return isSame && areAsExpected(rest, others)
}

function patternOf(expected: string): RegExp {
  const parts = expected
    .trimEnd()
    .replace(TIME, '\0')
    .split(/(…|\0)/)
  const patterns = parts.map((part) => {
    if (part === '…') return '.*'
    if (part === '\0') return TIME.source
    return part.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&').replaceAll(/ +/g, ' +')
  })
  return new RegExp(`^${patterns.join('')}$`)
}

function asOnTerminal(line: string): string {
  if (!/^\{"time":".*","level":".*","message":/.test(line)) return line
  const { time, level, message, ...fields } = JSON.parse(line) as LogFields
  return textFormat(false)({
    level: String(level) as 'info',
    text: String(message),
    fields,
    time: Date.parse(String(time)),
  })
}

/**
 * The output that the comments of a program state: those after `console.log`, and lines of
 * comments; `in any order: a; b` is several lines.
 */
export function expectedOutput(program: string): { lines: string[]; loose: string[] } {
  const lines: string[] = []
  const loose: string[] = []
  for (const line of program.split('\n')) {
    const comment = /^\s*\/\/ (.*)$/.exec(line)?.[1] ?? /console\.log\(.*\/\/ (.*)$/.exec(line)?.[1]
    if (comment === undefined) continue
    const unordered = /^in any order: (.*)$/.exec(comment)?.[1]
    if (unordered === undefined) lines.push(comment)
    else loose.push(...unordered.split('; '))
  }
  return { lines, loose }
}
