// Parses TOML that people have written by hand: an error says where it is, and what is usually
// meant there.

import { parse, TomlError } from 'smol-toml'
import { ConfigError } from '../base/errors.js'

/**
 * The tables of a file. Throws `ConfigError`, one line that begins with `path:line:column`, for
 * what is not TOML.
 */
export function parseToml(path: string, text: string): Readonly<Record<string, unknown>> {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const what = (error.message.split('\n', 1)[0] ?? '').replace(/^Invalid TOML document: /, '')
    const advice = adviceFor(text.split(/\r?\n/)[error.line - 1] ?? '')
    const where = `${path}:${error.line}:${error.column}`
    throw new ConfigError(`${where}: ${what}${advice}`, { cause: error })
  }
}

/** What most slips look like; of a line that is wrong, the first that fits is meant. */
const SLIPS: readonly (readonly [RegExp, string])[] = [
  [/^\s*\[[^\]]*$/, 'a section is written [NAME]'],
  [/^[^=[]*$/, 'a setting is written KEY = VALUE'],
  [/=\s*(?:true|false|yes|no|on|off)\b/i, 'a switch is true or false, in small letters'],
  [/"[^"]*\\/, 'a backslash in "…" is written \\\\; in \'…\' it stands for itself'],
  [/=\s*[^\s"'[{\d+-]/, 'text is written in quotes'],
]

function adviceFor(line: string): string {
  const advice = SLIPS.find(([slip]) => slip.test(line))?.[1]
  return advice === undefined ? '' : ` (${advice})`
}
