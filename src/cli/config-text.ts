// Settings as text: TOML that reads back, with where each value came from beside it, or JSON.

import type { CommandDefinition } from './command-definition.js'
import { ADDRESS_KEY } from './config-section.js'
import { flagsOf } from './flag.js'
import { writtenValue } from './option-text.js'
import { placeOf } from './origin.js'
import type { Setting, Settings } from './settings.js'

/** A command and its settings. */
export interface CommandSettings {
  readonly definition: CommandDefinition
  readonly settings: Settings
}

/** A line of a section. */
interface Line {
  readonly key: string
  /** In the units of texts; undefined if there is no value. */
  readonly value: unknown
  /** `--protected`, `SCALER_PROTECTED`, `x.toml:3`, `default`. */
  readonly from: string
  /** What holds where there is no value. */
  readonly note: string | undefined
}

/** Sections of a configuration file, with comments. */
export function tomlText(sections: readonly CommandSettings[]): string {
  return sections.map(sectionText).join('\n')
}

/** `{ "scheduler": { "protected": { "value": true, "from": "--protected" }, … } }` */
export function jsonText(sections: readonly CommandSettings[]): string {
  const entries = sections.map((section) => {
    const lines = linesOf(section).map(
      ({ key, value, from }) => [key, { value: value ?? null, from }] as const,
    )
    return [section.definition.name, Object.fromEntries(lines)] as const
  })
  return `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`
}

function sectionText(section: CommandSettings): string {
  const lines = linesOf(section)
  const texts = lines.map(({ key, value }) =>
    value === undefined ? '' : `${key} = ${toml(value)}`,
  )
  const widest = Math.min(48, Math.max(...texts.map((text) => text.length)))
  const shown = lines.map(({ key, from, note, value }, index) => {
    const text = texts[index] ?? ''
    if (value === undefined) return `# ${key}: ${note ?? 'not set'}`
    return `${text.padEnd(widest)}  # ${from}`
  })
  return `[${section.definition.name}]\n${shown.join('\n')}\n`
}

function linesOf({ definition, settings }: CommandSettings): readonly Line[] {
  const isOwn = new Set(flagsOf(definition).map(({ name }) => name))
  const options = settings.options.filter(({ flag }) => isOwn.has(flag.name)).map(lineOf)
  if (definition.positionals[0]?.env === undefined) return options
  const [word] = settings.words
  const from = word === undefined ? 'default' : placeOf(word.origin)
  return [{ key: ADDRESS_KEY, value: word?.text, from, note: undefined }, ...options]
}

function lineOf({ flag, value, origin }: Setting): Line {
  const written = writtenValue(flag.spec.type, value)
  return { key: flag.key, value: written, from: placeOf(origin), note: flag.spec.defaultText }
}

/** Strings of JSON are strings of TOML, but for one character. */
function toml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(', ')}]`
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f')
}
