// The completion script for bash 3.2 and later, without the package bash-completion.

import type { CompletionModel, Offer, OfferedCommand } from './completion-model.js'

/** Functions that offer words and names of files. */
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
      # The settings of a command are asked for with its own command line.
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

# Whether the flag $2 of the command $1 has a value behind it.
_scaler_takes() {
  case "$1 $2" in
${commands.flatMap(takingCases).join('\n')}
    *) return 1 ;;
  esac
}

complete -F _scaler scaler ${[...executables.keys()].join(' ')}
`
}

/** What stands behind each flag that takes a value. */
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
