// Markdown tables of options, from the tables that the code checks options with: for commands
// (`flags scheduler`) and for classes (`options scheduler`).

/** The tables of classes, by their names in pages: the source of each, and what it leaves out. */
const CODE_TABLES = {
  scheduler: { from: ['scheduler/scheduler-options.js', 'SCHEDULER_OPTIONS'], without: 'shared' },
  cluster: { from: ['cluster/options.js', 'CLUSTER_START_OPTIONS'], without: 'shared' },
  combo: { from: ['cluster/options.js', 'COMBO_OPTIONS'], without: 'same' },
  range: { from: ['cluster/options.js', 'WORKER_RANGE_OPTIONS'] },
  allocator: { from: ['allocate/options.js', 'ALLOCATOR_OPTIONS'], without: 'shared' },
  shared: { from: ['runtime/log/log.js', 'LOGGING_OPTIONS'] },
  unnecessary: { from: ['runtime/unnecessary-options.js', 'UNNECESSARY_WORKER_OPTIONS'] },
}

/** The required options of `Cluster.start`, which the page lists separately. */
const REQUIRED = { cluster: ['address', 'workers'], allocator: ['provider', 'address'] }

const load = (path) => import(new URL(`../../lib/${path}`, import.meta.url))

/** The table of this kind and name. Throws if there is none. */
export async function optionTable(kind, name) {
  if (kind === 'flags') return flagTable(name)
  const entry = kind === 'options' ? CODE_TABLES[name] : undefined
  if (entry === undefined) throw new Error(`there is no table of ${kind} ${name}`)
  const specs = await specsOf(name)
  const left = entry.without === undefined ? {} : await leftOut(entry.without)
  const isSaid = (option, spec) => option in left && left[option].default === spec.default
  const isShown = ([option, spec]) =>
    !isSaid(option, spec) && REQUIRED[name]?.includes(option) !== true
  return codeTable(Object.fromEntries(Object.entries(specs).filter(isShown)))
}

async function specsOf(name) {
  const [path, exported] = CODE_TABLES[name].from
  return (await load(path))[exported]
}

/** The options that other tables of the same page already have. */
async function leftOut(which) {
  const shared = { ...(await specsOf('shared')), ...(await specsOf('unnecessary')) }
  if (which === 'shared') return shared
  return { ...shared, ...(await specsOf('scheduler')), ...(await specsOf('cluster')) }
}

async function flagTable(name) {
  const { COMMANDS } = await load('cli/commands.js')
  const { flagsOf, settableFlags, variableOf, defaultOf } = await load('cli/option/flag.js')
  const { writtenValue } = await load('cli/option/text.js')
  const definition = await COMMANDS.get(name)()
  const rows = settableFlags(flagsOf(definition)).map((flag) => {
    const { spec, key, short } = flag
    const value = writtenValue(spec.type, defaultOf(flag))
    const flags = [`--${key}`, ...short].map(code).join(', ')
    return [
      `${flags}<br>${code(variableOf(flag))}`,
      spec.defaultText ?? shownValue(value),
      boundsOf(spec.type, 1_000),
      descriptionOf(spec),
    ]
  })
  return table(['flag, variable', 'default', 'bounds', ''], rows)
}

function codeTable(specs) {
  const rows = Object.entries(specs).map(([name, spec]) => [
    code(name),
    spec.defaultText ?? shownValue(spec.default),
    boundsOf(spec.type, 1),
    // In code, lists are arrays.
    descriptionOf({ ...spec, description: spec.description.replace(/^comma-separated /, '') }),
  ])
  return table(['option', 'default', 'bounds', ''], rows)
}

function descriptionOf({ description, unnecessary }) {
  const text = unnecessary === undefined ? description : `accepted, but unnecessary: ${unnecessary}`
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function shownValue(value) {
  if (value === undefined) return 'none'
  if (typeof value === 'number') return grouped(value)
  if (Array.isArray(value)) return value.map((item) => code(item)).join(' ')
  return code(String(value))
}

/** Milliseconds are divided by `msPerUnit`: commands take seconds. */
function boundsOf(type, msPerUnit) {
  switch (type.kind) {
    case 'integer':
      return `${grouped(type.min)} to ${grouped(type.max)}`
    case 'duration':
      return `${grouped(type.min / msPerUnit)} to ${grouped(type.max / msPerUnit)}`
    case 'choice':
      return type.choices.map(code).join(', ')
    default:
      return ''
  }
}

function grouped(value) {
  return value.toLocaleString('en-US', { maximumFractionDigits: 3 })
}

function code(text) {
  return `\`${text}\``
}

function table(heads, rows) {
  const escaped = rows.map((cells) => cells.map((cell) => cell.replaceAll('|', '\\|')))
  const lines = [heads, heads.map(() => '---'), ...escaped]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
