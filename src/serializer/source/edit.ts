// Changes to a text at the positions of nodes.

/** Replaces what stands between two offsets; equal ones insert. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * The part of a text between two offsets, with edits; those at the same place in their order. A
 * space keeps words apart that would become one: `extends(0, f)(A)` becomes `extends Parent`.
 */
export function applyEdits(
  source: string,
  [from, to]: readonly [from: number, to: number],
  edits: readonly Edit[],
): string {
  const sorted = edits
    .map((edit, index) => ({ edit, index }))
    .toSorted((a, b) => a.edit.start - b.edit.start || a.index - b.index)
  const parts: string[] = []
  const add = (text: string): void => {
    if (text === '') return
    if (WORD_START.test(text) && WORD_END.test(parts.at(-1)?.at(-1) ?? '')) parts.push(' ')
    parts.push(text)
  }
  let position = from
  for (const { edit } of sorted) {
    add(source.slice(position, edit.start))
    add(edit.text)
    position = edit.end
  }
  add(source.slice(position, to))
  return parts.join('')
}

const WORD_START = /^[\p{ID_Start}\w$\\]/u
const WORD_END = /[\w$]/

/** Spaces in the place of a text, with its line ends. */
export function blank(text: string): string {
  return text.replaceAll(/[^\n\r\u2028\u2029]/g, ' ')
}

/**
 * A text in the place of another: as long as that, if it is not longer itself, with its line
 * ends.
 */
export function inPlaceOf(original: string, text: string): string {
  const rest = blank(original)
  const columns = /^ */.exec(rest)?.[0].length ?? 0
  return text + rest.slice(Math.min(text.length, columns))
}
