// A file that the package exports under another path.

export function deep() {
  return 'deep inside'
}
