// The completion script for bash 3.2 and later, without the package bash-completion.

import type { CompletionModel, Offer, OfferedCommand, OfferedFlag } from './completion.js'

/** Functions that offer words and file names. */
const TOOLS = `_scaler_words() {
  COMPREPLY=($(compgen -W "$1" -- "$2"))
}

_scaler_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$1"))
}`

/** A script to be read by bash: `eval "$(scaler completion bash)"`. */
export function bashScript({ commands, executables }: CompletionModel): string {
  const names = commands.map(({ name }) => name).join(' ')
  const own = [...executables].map(([executable, name]) => `    ${executable}) command=${name} ;;`)
  return `# Completion of scaler for bash. Load it with: eval "$(scaler completion bash)"

${TOOLS}

_scaler() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]}
  local command= first=1 index word before_word position=0
  COMPREPLY=()
  # "--flag=value" arrives as three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $before == = ]]; then
    before=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case \${COMP_WORDS[0]##*/} in
${own.join('\n')}
    *)
      if ((COMP_CWORD == 1)); then
        _scaler_words "${names} --help --version" "$current"
        return
      fi
      command=\${COMP_WORDS[1]}
      first=2
      # scaler config takes the command line of another command.
      if [[ $command == config && \${COMP_WORDS[2]} != -* ]] && ((COMP_CWORD > 2)); then
        command=\${COMP_WORDS[2]}
        first=3
      fi
      ;;
  esac
  for ((index = first; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    before_word=\${COMP_WORDS[index - 1]}
    if [[ $word != -* && $word != = ]] && ! _scaler_takes "$command" "$before_word"; then
      ((position++))
    fi
  done
  case "$command $before" in
${commands.flatMap(valueCases).join('\n')}
  esac
  if [[ $current == -* ]]; then
    case $command in
${commands.map(flagCase).join('\n')}
    esac
    return
  fi
  case "$command $position" in
${commands.flatMap(wordCases).join('\n')}
  esac
}

# Whether the flag $2 of the command $1 takes a value.
_scaler_takes() {
  case "$1 $2" in
${commands.flatMap(takingCases).join('\n')}
    *) return 1 ;;
  esac
}

complete -F _scaler scaler ${[...executables.keys()].join(' ')}
`
}

/** What is offered after each flag that takes a value. */
function valueCases({ name, flags }: OfferedCommand): string[] {
  return flags.flatMap(({ names, value }) => {
    if (value === undefined) return []
    const patterns = names.map((each) => `"${name} ${each}"`).join(' | ')
    return [`    ${patterns})`, `      ${offerText(value)}`, '      return', '      ;;']
  })
}

function takingCases({ name, flags }: OfferedCommand): string[] {
  const taking = flags.filter(({ value }) => value !== undefined).flatMap(({ names }) => names)
  if (taking.length === 0) return []
  return [`    ${taking.map((each) => `"${name} ${each}"`).join(' | ')}) return 0 ;;`]
}

function flagCase({ name, flags }: OfferedCommand): string {
  const words = flags.flatMap(({ names }) => names).join(' ')
  return `      ${name}) _scaler_words "${words}" "$current" ;;`
}

function wordCases({ name, words }: OfferedCommand): string[] {
  return words.flatMap((offer, index) => {
    if (offer === 'anything') return []
    const pattern = index === words.length - 1 ? `"${name} "*` : `"${name} ${index}"`
    return [`    ${pattern}) ${offerText(offer)} ;;`]
  })
}

function offerText(offer: Offer): string {
  if (offer === 'file') return '_scaler_files "$current"'
  if (offer === 'anything') return ':'
  return `_scaler_words "${offer.join(' ')}" "$current"`
}

// The completion script for fish: one line for each offer.

/** A script to be read by fish: `scaler completion fish | source`. */
export function fishScript({ commands, executables }: CompletionModel): string {
  const names = commands.map(({ name }) => name).join(' ')
  const atFirst = `complete -c scaler -n ${quoteFish(`not __fish_seen_subcommand_from ${names}`)}`
  const lines = [
    '# Completion of scaler for fish. Load it with: scaler completion fish | source',
    IS_FUNCTION,
    'complete -c scaler -f',
    ...commands.map(({ name, summary }) => {
      return `${atFirst} -a ${name} -d ${quoteFish(summary)}`
    }),
    `${atFirst} -l help -s h -d ${quoteFish('print help and exit')}`,
    `${atFirst} -l version -d ${quoteFish('print the version and exit')}`,
    ...commands.flatMap((command) => {
      return commandLines(
        command,
        `complete -c scaler -n ${quoteFish(`_scaler_is ${command.name}`)}`,
      )
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
 * Whether a command is the one being typed: not if its name is an argument of another command, but
 * also in `scaler config scheduler`, which takes the command line of a scheduler.
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
    return [offer === 'file' ? `${start} -F` : `${start} -a ${quoteFish(offer.join(' '))}`]
  })
  return [...offers, ...flags.map((flag) => `${start} ${flagText(flag)}`)]
}

function flagText({ names, description, value }: OfferedFlag): string {
  const parts = names.map((name) => {
    if (name.startsWith('--')) return `-l ${name.slice(2)}`
    return name.length === 2 ? `-s ${name.slice(1)}` : `-o ${name.slice(1)}`
  })
  return [...parts, valueText(value), `-d ${quoteFish(description)}`]
    .filter((part) => part !== '')
    .join(' ')
}

function valueText(value: Offer | undefined): string {
  if (value === undefined) return ''
  if (value === 'file') return '-r -F'
  return value === 'anything' ? '-x' : `-x -a ${quoteFish(value.join(' '))}`
}

function quoteFish(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`
}

// The completion script for zsh: a function for its completion system.

/** A script for zsh: evaluate it, or put it into the `fpath` as `_scaler`. */
export function zshScript({ commands, executables }: CompletionModel): string {
  const names = ['scaler', ...executables.keys()].join(' ')
  const own = [...executables].map(([executable, name]) => `    ${executable}) name=${name} ;;`)
  const list = commands.map(
    ({ name, summary }) => `        ${quoteZsh(`${name}:${plain(summary)}`)}`,
  )
  return `#compdef ${names}
# Completion of scaler for zsh. Load it with: eval "$(scaler completion zsh)"
# or install it permanently: scaler completion zsh > "\${fpath[1]}/_scaler"

_scaler() {
  local name
  case \${service:-scaler} in
${own.join('\n')}
    *)
      if ((CURRENT == 2)); then
        local -a commands=(
${list.join('\n')}
        )
        _describe command commands
        _arguments '--help[print help and exit]' '--version[print the version and exit]'
        return
      fi
      name=$words[2]
      shift words
      ((CURRENT--))
      # scaler config takes the command line of another command.
      if [[ $name == config && $words[2] != -* ]] && ((CURRENT > 2)); then
        name=$words[2]
        shift words
        ((CURRENT--))
      fi
      ;;
  esac
  case $name in
${commands.map(commandCase).join('\n')}
  esac
}

if [[ $funcstack[1] == _scaler ]]; then
  _scaler "$@"
else
  compdef _scaler ${names}
fi
`
}

function commandCase({ name, flags, words }: OfferedCommand): string {
  const specs = [
    ...flags.flatMap(flagSpecs),
    ...words.map((offer, index) => wordSpec(words, offer, index)),
  ]
  return `    ${name})\n      _arguments \\\n        ${specs.join(' \\\n        ')}\n      ;;`
}

/** One spec for each name of the flag; each excludes all others. */
function flagSpecs({ names, description, value }: OfferedFlag): string[] {
  const exclusion = names.length > 1 ? `(${names.join(' ')})` : ''
  const text = plain(description).replaceAll(/[[\]]/g, '\\\\$&')
  return names.map((name) => {
    const label = name.startsWith('--') && value !== undefined ? `${name}=` : name
    const argument =
      value === undefined ? '' : `:${plain(name.replace(/^-+/, ''))}:${action(value)}`
    return quoteZsh(`${exclusion}${label}[${text}]${argument}`)
  })
}

function wordSpec(words: readonly Offer[], offer: Offer, index: number): string {
  const place = index === words.length - 1 && index > 0 ? '*' : String(index + 1)
  return quoteZsh(`${place}:argument:${action(offer)}`)
}

function action(offer: Offer): string {
  if (offer === 'file') return '_files'
  return offer === 'anything' ? ' ' : `(${offer.join(' ')})`
}

/** Colons separate the parts of a spec. */
function plain(text: string): string {
  return text.replaceAll(':', ' -')
}

function quoteZsh(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
