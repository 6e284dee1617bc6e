// A recording as an animated SVG: each row of a terminal is a text for as long as it was visible.
// Without animation it shows the end of the recording.

const COLUMN = 8.4
const ROW = 19
const SIZE = 14
const MARGIN = 14
const BAR = 26
/** How long the end is shown before the animation restarts. */
const END_MS = 4_000

/** Colours by their names in a terminal: on a light page, on a dark one. */
const COLORS = {
  text: ['#1f2328', '#e6edf3'],
  '.screen': ['#f6f8fa', '#0d1117'],
  '.edge': ['#d1d9e0', '#3d444d'],
  '.title, .dim': ['#59636e', '#9198a1'],
  '.red': ['#cf222e', '#ff7b72'],
  '.green': ['#1a7f37', '#3fb950'],
  '.yellow': ['#9a6700', '#d29922'],
  '.blue': ['#0969da', '#58a6ff'],
  '.cyan': ['#1b7c83', '#39c5cf'],
}
const FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
const rules = (at) =>
  Object.entries(COLORS).map(([name, colors]) => `${name} { fill: ${colors[at]} }`)
const STYLE = [
  `text { font: ${SIZE}px ${FONT}; white-space: pre }`,
  '.title { font-size: 12px }',
  ...rules(0),
  '@media (prefers-color-scheme: dark) {',
  ...rules(1),
  '}',
].join('\n')

/**
 * A picture of terminals below each other, each `{ title, rows, frames }`: `frames` are
 * `{ atMs, rows }`, what the terminal showed from then on.
 */
export function svgOf(title, terminals, columns) {
  const endMs = Math.max(...terminals.flatMap(({ frames }) => frames.map(({ atMs }) => atMs)))
  const totalMs = endMs + END_MS
  const width = Math.ceil(columns * COLUMN + 2 * MARGIN)
  let top = 1
  const parts = []
  for (const terminal of terminals) {
    const height = BAR + terminal.rows * ROW + MARGIN
    parts.push(windowOf(terminal, { top, width, height }), ...textsOf(terminal, top, totalMs))
    top += height + 10
  }
  const height = top - 9
  const box = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${box} role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    ...parts,
    '</svg>\n',
  ].join('\n')
}

function windowOf({ title }, { top, width, height }) {
  const circle = (x) => `<circle class="edge" cx="${x}" cy="${top + 14}" r="5"/>`
  const outer = `x="0" y="${top - 1}" width="${width}" height="${height + 1}" rx="9"`
  const inner = `x="1" y="${top}" width="${width - 2}" height="${height - 1}" rx="8"`
  return [
    `<rect class="edge" ${outer}/><rect class="screen" ${inner}/>`,
    ...[16, 32, 48].map(circle),
    `<text class="title" x="66" y="${top + 18}">${escaped(title)}</text>`,
  ].join('')
}

/** The texts of each row, one for each change. */
function textsOf({ frames, rows }, top, totalMs) {
  const texts = []
  for (let row = 0; row < rows; row += 1) {
    let shown = { key: '', fromMs: 0 }
    for (const { atMs, rows: all } of [...frames, { atMs: totalMs, rows: [] }]) {
      const spans = all[row] ?? []
      const key = JSON.stringify(spans)
      if (key === shown.key) continue
      if (shown.spans !== undefined && shown.spans.length > 0) {
        const y = top + BAR + row * ROW + SIZE
        texts.push(textOf(shown.spans, y, { fromMs: shown.fromMs, toMs: atMs, totalMs }))
      }
      shown = { key, spans, fromMs: atMs }
    }
  }
  return texts
}

function textOf(spans, y, { fromMs, toMs, totalMs }) {
  const inner = spans
    .map(({ text, color }) =>
      color === '' ? escaped(text) : `<tspan class="${color}">${escaped(text)}</tspan>`,
    )
    .join('')
  const at = (ms) => Number((ms / totalMs).toFixed(4))
  const changes = [
    [0, fromMs === 0],
    ...(fromMs === 0 ? [] : [[at(fromMs), true]]),
    ...(toMs >= totalMs ? [] : [[at(toMs), false]]),
  ]
  const animation = [
    '<animate attributeName="visibility" calcMode="discrete" repeatCount="indefinite"',
    `dur="${totalMs / 1_000}s"`,
    `keyTimes="${changes.map(([time]) => time).join(';')}"`,
    `values="${changes.map(([, isShown]) => (isShown ? 'visible' : 'hidden')).join(';')}"/>`,
  ].join(' ')
  const hidden = toMs >= totalMs ? '' : ' visibility="hidden"'
  const isStill = changes.length < 2
  return `<text x="${MARGIN}" y="${y}"${hidden}>${inner}${isStill ? '' : animation}</text>`
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
