// The completion script for fish: one line for each thing that it may offer.

import type { CompletionModel, Offer, OfferedCommand, OfferedFlag } from './completion-model.js'

/** A script to be read by fish: `scaler completion fish | source`. */
export function fishScript({ commands, executables }: CompletionModel): string {
  const names = commands.map(({ name }) => name).join(' ')
  const isFirst = `not __fish_seen_subcommand_from ${names}`
  const lines = [
    '# Completion of scaler for fish. Load it with: scaler completion fish | source',
    IS_FUNCTION,
    'complete -c scaler -f',
    ...commands.map(({ name, summary }) => {
      return `complete -c scaler -n ${quote(isFirst)} -a ${name} -d ${quote(summary)}`
    }),
    `complete -c scaler -n ${quote(isFirst)} -l help -s h -d ${quote('print help and exit')}`,
    `complete -c scaler -n ${quote(isFirst)} -l version -d ${quote('print the version and exit')}`,
    ...commands.flatMap((command) => {
      return commandLines(command, `complete -c scaler -n ${quote(`_scaler_is ${command.name}`)}`)
    }),
    ...[...executables].flatMap(([executable, name]) => {
      const command = commands.find((each) => each.name === name)
      const start = `complete -c ${executable}`
      return command === undefined ? [] : [`${start} -f`, ...commandLines(command, start)]
    }),
  ]
  return `${lines.join('\n')}\n`
}

/**
 * Whether a command is the one that is typed: not a file of this name behind another one, but
 * `scaler config scheduler`, which takes the command line of a scheduler.
 */
const IS_FUNCTION = `function _scaler_is
    set -l words (commandline -opc)
    set -e words[1]
    if test (count $words) -gt 1; and test $words[1] = config
        set -e words[1]
    end
    test (count $words) -gt 0; and test $words[1] = $argv[1]
end`

function commandLines({ flags, words }: OfferedCommand, start: string): string[] {
  const offers = words.flatMap((offer) => {
    if (offer === 'anything') return []
    return [offer === 'file' ? `${start} -F` : `${start} -a ${quote(offer.join(' '))}`]
  })
  return [...offers, ...flags.map((flag) => `${start} ${flagText(flag)}`)]
}

function flagText({ names, description, value }: OfferedFlag): string {
  const parts = names.map((name) => {
    if (name.startsWith('--')) return `-l ${name.slice(2)}`
    return name.length === 2 ? `-s ${name.slice(1)}` : `-o ${name.slice(1)}`
  })
  return [...parts, valueText(value), `-d ${quote(description)}`]
    .filter((part) => part !== '')
    .join(' ')
}

function valueText(value: Offer | undefined): string {
  if (value === undefined) return ''
  if (value === 'file') return '-r -F'
  return value === 'anything' ? '-x' : `-x -a ${quote(value.join(' '))}`
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`
}
