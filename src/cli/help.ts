// Help texts, generated from command definitions and wrapped to the width of the terminal.

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

/** How to format a text. */
interface TextStyle {
  /** Columns of the terminal. */
  readonly width: number
  /** Whether headings are bold. */
  readonly color: boolean
}

/** A list entry: a name and its description. */
type Entry = readonly [name: string, description: string]

const TITLES: readonly (readonly [FlagGroup, string])[] = [
  ['own', 'Options'],
  ['tls', 'For tls:// addresses'],
  ['log', 'Log'],
  ['unnecessary', 'Accepted, but unnecessary here'],
  ['general', 'General'],
]
const MIN_WIDTH = 40
const MAX_WIDTH = 120

/** The help of one command, called as `calledAs`. Ends with a line feed. */
export function commandHelp(
  definition: CommandDefinition,
  calledAs: string,
  style: TextStyle,
): string {
  const flags = flagsOf(definition)
  const usage = [calledAs, '[options]', ...definition.positionals.map(usageOf)].join(' ')
  const words = definition.positionals.map((each) => [each.name, wordText(each)] as const)
  const examples = definition.examples.map((line) => asCalled(line, definition, calledAs))
  return page([
    `${heading('Usage:', style)} ${usage}`,
    wrap(definition.summary, '', style),
    section('Arguments', twoColumns(words, style), style),
    ...TITLES.map(([group, title]) => {
      const own = flags.filter((flag) => flag.group === group)
      const texts = own.map((flag) => flagText(flag, style))
      return section(title, texts, style)
    }),
    wrap(settingsText(flags), '', style),
    section('Examples', examples.map(exampleText), style),
  ])
}

/** The help of `scaler` itself. */
export function overviewHelp(
  calledAs: string,
  definitions: readonly CommandDefinition[],
  style: TextStyle,
): string {
  const commands = definitions.map(({ name, summary }) => [name, summary] as const)
  const aliases: Entry = ['worker', 'Another name for cluster.']
  const examples = definitions.flatMap((each) => each.examples.slice(0, 1))
  const summary = 'Scaler runs functions of Node.js programs on many cores and many machines.'
  const more = `For details, run ${calledAs} help <command> or ${calledAs} <command> --help.`
  return page([
    `${heading('Usage:', style)} ${calledAs} <command> [options]`,
    wrap(summary, '', style),
    section('Commands', twoColumns([...commands, aliases], style), style),
    section('Examples', examples.map(exampleText), style),
    wrap(more, '', style),
  ])
}

/** Joins the parts that are not empty. */
function page(parts: readonly string[]): string {
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function exampleText(line: string): string {
  return `  $ ${line}`
}

/** Joins words into lines that fit, each starting with `indent`. */
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

/** Names with their descriptions beside them. */
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

/** Lines under a heading; empty if there are none. */
function section(title: string, lines: readonly string[], style: TextStyle): string {
  return lines.length === 0 ? '' : [heading(`${title}:`, style), ...lines].join('\n')
}

/** `-wt, --worker-timeout-seconds SECONDS`, its description, and its default and bounds. */
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
  const variable = isSet ? variableOf(flag) : key === 'config' ? CONFIG_VARIABLE : undefined
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
    'Flags override environment variables, which override the configuration file; its keys are ' +
    'the names of flags. Flags may be shortened as long as they stay unambiguous.'
  )
}

/** An example, with the name by which the command was called. */
function asCalled(line: string, definition: CommandDefinition, calledAs: string): string {
  const canonical = `scaler ${definition.name} `
  return line.startsWith(canonical) ? `${calledAs} ${line.slice(canonical.length)}` : line
}

// The capabilities of the terminal: its width, and whether to use colours.

/** The width if the stream is not a terminal. */
const DEFAULT_WIDTH = 80

/** The properties of a stream that describe a terminal. */
interface MaybeTerminal {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  hasColors?: () => boolean
}

/** How to write to a stream. */
export function styleOf(stream: MaybeTerminal, environment: NodeJS.ProcessEnv): TextStyle {
  const isTerminal = stream.isTTY === true
  const width = isTerminal && (stream.columns ?? 0) > 0 ? stream.columns : undefined
  return { width: width ?? DEFAULT_WIDTH, color: usesColor(stream, environment) }
}

/** FORCE_COLOR decides, then NO_COLOR, then the terminal. */
function usesColor(stream: MaybeTerminal, environment: NodeJS.ProcessEnv): boolean {
  const force = environment['FORCE_COLOR']
  if (force !== undefined) return force !== '0' && force !== 'false'
  const isRefused = (environment['NO_COLOR'] ?? '') !== ''
  return !isRefused && stream.isTTY === true && stream.hasColors?.() === true
}
