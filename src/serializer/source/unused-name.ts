// Names for what a text is given.

/** A name that is nowhere in a text, nor an escaped form of it. */
export function unusedName(wish: string, source: string): string {
  const plain = source.includes('\\u') ? source.replaceAll(ESCAPE, unescaped) : source
  let name = wish
  for (let count = 1; plain.includes(name); count += 1) name = `${wish}${count}`
  return name
}

const ESCAPE = /\\u(?:\{([\da-f]{1,6})\}|([\da-f]{4}))/gi

function unescaped(escape: string, ...digits: readonly unknown[]): string {
  const code = Number.parseInt(String(digits[0] ?? digits[1]), 16)
  return code > 0x10_ff_ff ? escape : String.fromCodePoint(code)
}
