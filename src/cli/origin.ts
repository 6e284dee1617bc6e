// Where a value came from, so that an error or `scaler config` can say it.

/** Where a value was given; `default` if it was not. */
export type Origin =
  /** `flag` is the long one, `typed` what was typed. */
  | { readonly kind: 'flag'; readonly flag: string; readonly typed: string }
  /** A word of the command line that belongs to no flag. */
  | { readonly kind: 'word'; readonly name: string }
  | { readonly kind: 'environment'; readonly variable: string }
  | {
      readonly kind: 'file'
      readonly path: string
      readonly line: number
      readonly column: number
      /** `[scheduler] worker-timeout-seconds`, as it is written there. */
      readonly key: string
    }
  | { readonly kind: 'default' }

/** How an error names what was given there: `x.toml:3:5: [scheduler] worker-timeout-seconds`. */
export function nameFrom(origin: Origin): string {
  switch (origin.kind) {
    case 'flag': {
      const { flag, typed } = origin
      return flag === typed ? flag : `${typed} (${flag})`
    }
    case 'word':
      return origin.name
    case 'environment':
      return origin.variable
    case 'file':
      return `${origin.path}:${origin.line}:${origin.column}: ${origin.key}`
    case 'default':
      return 'default'
  }
}

/** How `scaler config` names it: `--protected`, `SCALER_PROTECTED`, `x.toml:3`, `default`. */
export function placeOf(origin: Origin): string {
  switch (origin.kind) {
    case 'flag':
      return origin.flag
    case 'word':
      return 'command line'
    case 'environment':
    case 'default':
      return nameFrom(origin)
    case 'file':
      return `${origin.path}:${origin.line}`
  }
}
