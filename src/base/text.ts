// Text for the operators of a cluster: of commands, and of errors. Anything may have been thrown,
// even an object whose getters throw.

/** The text of an error. */
export interface ErrorText {
  readonly name: string
  readonly message: string
  /** With name and message, as the engine formats it; '' if there is none. */
  readonly stack: string
}

/** Maximum lengths, in characters. */
const MOST_OF_ERROR: Readonly<Record<keyof ErrorText, number>> = {
  name: 256,
  message: 1_024,
  stack: 4_096,
}

/** The text of any thrown value. Never throws. */
export function errorTextOf(thrown: unknown): ErrorText {
  try {
    if (!(thrown instanceof Error))
      return clippedError({ name: '', message: String(thrown), stack: '' })
    const { name, message, stack } = thrown
    return clippedError({
      name: String(name),
      message: String(message),
      stack: String(stack ?? ''),
    })
  } catch {
    return { name: '', message: 'an error that cannot be shown', stack: '' }
  }
}

/** The same, cut to the maximum lengths. */
export function clippedError({ name, message, stack }: ErrorText): ErrorText {
  return {
    name: name.slice(0, MOST_OF_ERROR.name),
    message: message.slice(0, MOST_OF_ERROR.message),
    stack: stack.slice(0, MOST_OF_ERROR.stack),
  }
}

/** The message of an error; any other value as text. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

// Numbers of things, as people say them.

/** `1 worker`, `2 workers`. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** `1.5 MB`. */
export function sizeText(bytes: number): string {
  let value = bytes
  let at = 0
  for (; value >= 1_000 && at < SIZES.length - 1; at += 1) value /= 1_000
  return `${value >= 100 || at === 0 ? Math.round(value) : value.toFixed(1)} ${SIZES[at]}`
}

/** JSON in which `null` stands for what is not known: `JSON.stringify` would leave it out. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) => field ?? null)
}

/** A word of a shell command, quoted where necessary. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
