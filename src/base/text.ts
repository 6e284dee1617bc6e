// What an error says as text, for people who look after a cluster: whatever was thrown, and without
// running into what it may have for traps.

/** What an error says. */
export interface ErrorText {
  readonly name: string
  readonly message: string
  /** With name and message, as the engine writes it; '' where there is none. */
  readonly stack: string
}

/** Longer texts are cut, in characters. */
const MOST_OF_ERROR: Readonly<Record<keyof ErrorText, number>> = {
  name: 256,
  message: 1_024,
  stack: 4_096,
}

/** Never throws, whatever was thrown. */
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

/** The same, no longer than it may be. */
export function clippedError({ name, message, stack }: ErrorText): ErrorText {
  return {
    name: name.slice(0, MOST_OF_ERROR.name),
    message: message.slice(0, MOST_OF_ERROR.message),
    stack: stack.slice(0, MOST_OF_ERROR.stack),
  }
}

// Numbers of things, as people say them.

/** `1 worker`, `2 workers`. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}
