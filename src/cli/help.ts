// Help texts, made from what a command is and wrapped to the width of the terminal.

import type { OptionType } from '../base/option.js'
import type { CommandDefinition, Positional } from './command.js'
import {
  defaultOf,
  type Flag,
  type FlagGroup,
  flagsOf,
  namesFiles,
  variableOf,
} from './option/flag.js'
import { ADDRESS_VARIABLE, CONFIG_VARIABLE } from './option/settings.js'
import { boundsOf, writtenValue } from './option/text.js'

/** How a text is to look. */
interface TextStyle {
  /** Columns of the terminal. */
  readonly width: number
  /** Whether headings are bold. */
  readonly color: boolean
}

/** A name and what it is, for lists. */
type Entry = readonly [name: string, description: string]

const TITLES: readonly (readonly [FlagGroup, string])[] = [
  ['own', 'Options'],
  ['log', 'Log'],
  ['unnecessary', 'Accepted, but unnecessary here'],
  ['general', 'General'],
]
const MIN_WIDTH = 40
const MAX_WIDTH = 120

/** The help of one command, which was called as `calledAs`. Ends with a line feed. */
export function commandHelp(
  definition: CommandDefinition,
  calledAs: string,
  style: TextStyle,
): string {
  const flags = flagsOf(definition)
  const usage = [calledAs, '[options]', ...definition.positionals.map(usageOf)].join(' ')
  const parts = [`${heading('Usage:', style)} ${usage}`, wrap(definition.summary, '', style)]
  const positionals = definition.positionals.map((each) => [each.name, wordText(each)] as const)
  if (positionals.length > 0)
    parts.push(section('Arguments', twoColumns(positionals, style), style))
  for (const [group, title] of TITLES) {
    const own = flags.filter((flag) => flag.group === group)
    if (own.length > 0)
      parts.push(
        section(
          title,
          own.map((flag) => flagText(flag, style)),
          style,
        ),
      )
  }
  parts.push(wrap(settingsText(flags), '', style))
  const examples = definition.examples.map((line) => `  $ ${asCalled(line, definition, calledAs)}`)
  if (examples.length > 0) parts.push(section('Examples', examples, style))
  return `${parts.join('\n\n')}\n`
}

/** The help of `scaler` itself. */
export function overviewHelp(
  calledAs: string,
  definitions: readonly CommandDefinition[],
  style: TextStyle,
): string {
  const commands = definitions.map(({ name, summary }) => [name, summary] as const)
  const aliases: Entry = ['worker', 'Another name of cluster.']
  const examples = definitions.flatMap((each) => each.examples.slice(0, 1))
  const summary = 'Scaler runs functions of Node.js programs on many cores and many machines.'
  const more = `${calledAs} help <command>, or ${calledAs} <command> --help, tells more of one.`
  return `${[
    `${heading('Usage:', style)} ${calledAs} <command> [options]`,
    wrap(summary, '', style),
    section('Commands', twoColumns([...commands, aliases], style), style),
    section(
      'Examples',
      examples.map((line) => `  $ ${line}`),
      style,
    ),
    wrap(more, '', style),
  ].join('\n\n')}\n`
}

/** Words joined to lines that fit, each behind `indent`. */
function wrap(text: string, indent: string, { width }: TextStyle): string {
  const limit = Math.min(Math.max(width, MIN_WIDTH), MAX_WIDTH) - 1
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && indent.length + longer.length > limit) {
      lines.push(line)
      line = word
    } else {
      line = longer
    }
  }
  return [...lines, line].map((each) => `${indent}${each}`).join('\n')
}

/** Names, and beside them what they are. */
function twoColumns(entries: readonly Entry[], style: TextStyle): readonly string[] {
  const widest = Math.max(...entries.map(([name]) => name.length))
  const indent = ' '.repeat(widest + 4)
  return entries.map(([name, description]) => {
    const text = wrap(description, indent, style)
    return `  ${name.padEnd(widest)}  ${text.slice(indent.length)}`
  })
}

function heading(text: string, { color }: TextStyle): string {
  return color ? `\u001b[1m${text}\u001b[22m` : text
}

function section(title: string, lines: readonly string[], style: TextStyle): string {
  return [heading(`${title}:`, style), ...lines].join('\n')
}

/** `-wt, --worker-timeout-seconds SECONDS`, what it does, and what it may be. */
function flagText(flag: Flag, style: TextStyle): string {
  const names = [...flag.short, `--${flag.key}`].join(', ')
  const value = placeholder(flag)
  const facts = factsOf(flag)
  return [
    `  ${names}${value === '' ? '' : ` ${value}`}`,
    wrap(flag.spec.description, '      ', style),
    ...(facts === '' ? [] : [wrap(`[${facts}]`, '      ', style)]),
  ].join('\n')
}

function placeholder(flag: Flag): string {
  const { type } = flag.spec
  switch (type.kind) {
    case 'integer':
      return 'NUMBER'
    case 'duration':
      return 'SECONDS'
    case 'boolean':
      return ''
    case 'choice':
      return `{${type.choices.join(',')}}`
    case 'list':
      if (type.separator === 'commas') return 'NAME,...'
      return namesFiles(flag) ? '[FILE ...]' : '[WORD ...]'
    case 'text':
    case 'object':
      if (namesFiles(flag)) return 'FILE'
      return flag.key.endsWith('address') ? 'ADDRESS' : 'TEXT'
  }
}

function factsOf(flag: Flag): string {
  const { spec, key } = flag
  const isSet = flag.group !== 'general'
  const bounds = spec.type.kind === 'choice' ? undefined : boundsOf(spec.type)
  const fallback = spec.defaultText ?? shownDefault(spec.type, defaultOf(flag))
  const variable = isSet ? variableOf(key) : key === 'config' ? CONFIG_VARIABLE : undefined
  return [fallback === undefined ? undefined : `default: ${fallback}`, bounds, variable]
    .filter((fact) => fact !== undefined)
    .join('; ')
}

function shownDefault(type: OptionType, value: unknown): string | undefined {
  if (value === undefined || value === false) return undefined
  const written = writtenValue(type, value)
  return Array.isArray(written) ? written.join(' ') : String(written)
}

function usageOf({ name, isOptional, isVariadic }: Positional): string {
  const text = isVariadic === true ? `${name}...` : name
  return isOptional === true ? `[${text}]` : `<${text}>`
}

function wordText({ description, env }: Positional): string {
  return env === undefined ? description : `${description} [or ${ADDRESS_VARIABLE}]`
}

function settingsText(flags: readonly Flag[]): string {
  const isSettable = flags.some(({ group }) => group !== 'general')
  if (!isSettable) return 'Flags may be shortened as long as they stay unambiguous.'
  return (
    'Flags win over the environment, which wins over the configuration file; in a file the names ' +
    'of flags are keys. Flags may be shortened as long as they stay unambiguous.'
  )
}

/** An example, with the name by which the command was called now. */
function asCalled(line: string, definition: CommandDefinition, calledAs: string): string {
  const canonical = `scaler ${definition.name} `
  return line.startsWith(canonical) ? `${calledAs} ${line.slice(canonical.length)}` : line
}

// What the terminal can show: how wide it is, and whether colours are wanted.

/** The width of what is no terminal. */
const DEFAULT_WIDTH = 80

/** The part of a stream that says what it is. */
interface MaybeTerminal {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  hasColors?: () => boolean
}

/** How to write to a stream. */
export function styleOf(stream: MaybeTerminal, environment: NodeJS.ProcessEnv): TextStyle {
  const isTerminal = stream.isTTY === true
  const width = isTerminal && (stream.columns ?? 0) > 0 ? stream.columns : undefined
  return { width: width ?? DEFAULT_WIDTH, color: wantsColor(stream, environment) }
}

/** FORCE_COLOR decides, then NO_COLOR, then what the terminal can. */
function wantsColor(stream: MaybeTerminal, environment: NodeJS.ProcessEnv): boolean {
  const force = environment['FORCE_COLOR']
  if (force !== undefined) return force !== '0' && force !== 'false'
  const isRefused = (environment['NO_COLOR'] ?? '') !== ''
  return !isRefused && stream.isTTY === true && stream.hasColors?.() === true
}
