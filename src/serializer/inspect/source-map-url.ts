// The comment by which a script names its source map.

/**
 * The URL in the last `sourceMappingURL` comment of the text; empty if there is none. For scripts
 * that V8 said have one: it does not look whether the comment is one or stands in a string.
 */
export function sourceMapUrlOf(source: string): string {
  const at = Math.max(
    source.lastIndexOf('//# sourceMappingURL='),
    source.lastIndexOf('//@ sourceMappingURL='),
  )
  if (at < 0) return ''
  const url = /\S*/y
  url.lastIndex = at + '//# sourceMappingURL='.length
  return url.exec(source)?.[0] ?? ''
}
