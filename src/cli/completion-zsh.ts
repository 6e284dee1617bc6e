// The completion script for zsh: a function for its completion system.

import type { CompletionModel, Offer, OfferedCommand, OfferedFlag } from './completion-model.js'

/** A script to be read by zsh, or to be put into its `fpath` as `_scaler`. */
export function zshScript({ commands, executables }: CompletionModel): string {
  const names = ['scaler', ...executables.keys()].join(' ')
  const own = [...executables].map(([executable, name]) => `    ${executable}) name=${name} ;;`)
  const list = commands.map(({ name, summary }) => `        ${quote(`${name}:${plain(summary)}`)}`)
  return `#compdef ${names}
# Completion of scaler for zsh. Load it with: eval "$(scaler completion zsh)"
# or once and for all: scaler completion zsh > "\${fpath[1]}/_scaler"

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
      # The settings of a command are asked for with its own command line.
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

/** One spec for each name of the flag; each excludes all of them. */
function flagSpecs({ names, description, value }: OfferedFlag): string[] {
  const exclusion = names.length > 1 ? `(${names.join(' ')})` : ''
  const text = plain(description).replaceAll(/[[\]]/g, '\\\\$&')
  return names.map((name) => {
    const label = name.startsWith('--') && value !== undefined ? `${name}=` : name
    const argument =
      value === undefined ? '' : `:${plain(name.replace(/^-+/, ''))}:${action(value)}`
    return quote(`${exclusion}${label}[${text}]${argument}`)
  })
}

function wordSpec(words: readonly Offer[], offer: Offer, index: number): string {
  const place = index === words.length - 1 && index > 0 ? '*' : String(index + 1)
  return quote(`${place}:argument:${action(offer)}`)
}

function action(offer: Offer): string {
  if (offer === 'file') return '_files'
  return offer === 'anything' ? ' ' : `(${offer.join(' ')})`
}

/** Colons separate the parts of a spec. */
function plain(text: string): string {
  return text.replaceAll(':', ' -')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
