// The metrics of a scheduler that has worked, read by others: the parsers of the Python client, and
// Prometheus with the files of `deploy/`. And the queries of the dashboard, checked without it.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { Client, SchedulerClusterCombo } from 'scaler-ts'
import { isShort } from '#src/base/short-run.kit.js'
import { readMetrics } from '#src/scheduler/metrics.kit.js'
import { until } from '../integration/condition.js'
import { ROOT, startProgram } from './program.js'

const PROMETHEUS = join(ROOT, '.peers/prometheus')
const PYTHON = join(ROOT, '.peers/prometheus-client/venv/bin/python')

interface Panel {
  readonly title: string
  readonly type: string
  readonly datasource?: { readonly uid: string }
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const PANELS = (
  JSON.parse(readFileSync(join(ROOT, 'deploy/grafana.json'), 'utf8')) as {
    readonly panels: readonly Panel[]
  }
).panels.filter(({ type }) => type !== 'row')

const QUERIES = PANELS.flatMap(({ title, targets = [] }) =>
  targets.map((target) => ({ title, ...target })),
)

let cluster: SchedulerClusterCombo
let client: Client

before(async () => {
  cluster = await SchedulerClusterCombo.start({ workers: 2, metricsAddress: '127.0.0.1:0' })
  client = await Client.connect(cluster.address)
  await work()
})

after(async () => {
  await client.close()
  await cluster.shutdown()
})

/** Runs tasks with hostile names, some of which fail. */
async function work(): Promise<void> {
  const fail = (): never => {
    throw new Error('on purpose')
  }
  const hostile = (): number => 1
  Object.defineProperty(hostile, 'name', { value: 'a "b" \\ \n{c="d"} # EOF' })
  const futures = [fail, hostile, (): number => 2].map((fn) => client.submit(fn))
  const outcomes = await Promise.allSettled(futures)
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled'],
  )
}

async function scrape(accept: string): Promise<string> {
  const response = await fetch(`http://${cluster.metricsAddress}/metrics`, { headers: { accept } })
  return response.text()
}

const OPENMETRICS = 'application/openmetrics-text;version=1.0.0'

// A small reader of PromQL: enough to find the metrics of a query with their matchers.

const TOKEN =
  /\s+|(?<string>"[^"\\]*")|(?<word>[a-zA-Z_:][\w:]*)|(?<range>\[[^\]]+\])|(?<number>\d[\d.]*)|(?<operator>=~|!~|!=|>=|<=|[-+*/(){},<>=])/y

const GROUPING = new Set(['by', 'without', 'on', 'ignoring'])
const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset'])

interface Matcher {
  readonly label: string
  readonly operator: string
  readonly value: string
}

interface Selector {
  readonly metric: string
  readonly matchers: readonly Matcher[]
}

/** The metrics that a query selects, and the labels by which it groups. */
function selectorsOf(query: string): {
  readonly selectors: readonly Selector[]
  readonly labels: readonly string[]
} {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < query.length) {
    const at = TOKEN.lastIndex
    const match = TOKEN.exec(query)
    assert.ok(match !== null, `not PromQL at ${at}: ${query.slice(at)}`)
    if (match[0].trim() !== '') tokens.push(match[0])
  }
  const selectors: Selector[] = []
  const labels: string[] = []
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] as string
    if (!/^[a-z_]/i.test(token) || WORDS.has(token)) continue
    if (GROUPING.has(token)) {
      const end = tokens.indexOf(')', at)
      labels.push(...tokens.slice(at + 2, end).filter((each) => each !== ','))
      at = end
    } else if (tokens[at + 1] === '{') {
      const end = tokens.indexOf('}', at)
      const matchers: Matcher[] = []
      for (let next = at + 2; next < end; next += 4) {
        const [label = '', operator = '', value = ''] = tokens.slice(next, next + 3)
        matchers.push({ label, operator, value: value.slice(1, -1) })
      }
      selectors.push({ metric: token, matchers })
      at = end
    } else if (tokens[at + 1] !== '(' && !GROUPING.has(tokens[at + 1] ?? '')) {
      selectors.push({ metric: token, matchers: [] })
    }
  }
  return { selectors, labels }
}

test('the reader of PromQL finds metrics, matchers and labels', () => {
  const query =
    'topk(3, sum by (le, x) (rate(a_b{c="d",e=~"f|g"}[5m])) / b) or vector(0) > 1 and on (y) c:d'
  assert.deepEqual(selectorsOf(query), {
    selectors: [
      {
        metric: 'a_b',
        matchers: [
          { label: 'c', operator: '=', value: 'd' },
          { label: 'e', operator: '=~', value: 'f|g' },
        ],
      },
      { metric: 'b', matchers: [] },
      { metric: 'c:d', matchers: [] },
    ],
    labels: ['le', 'x', 'y'],
  })
  assert.throws(() => selectorsOf('a ? b'), /not PromQL at 2/)
})

test('each metric, label and value in a query of the dashboard exists', async () => {
  const samples = [...readMetrics(await scrape(OPENMETRICS)).keys()]
  for (const { title, expr, legendFormat } of QUERIES) {
    const { selectors, labels } = selectorsOf(expr)
    assert.ok(selectors.length > 0, title)
    const found = selectors.flatMap(({ metric, matchers }) => {
      const series = samples.filter((each) => each.replace(/\{.*/s, '') === metric)
      assert.ok(series.length > 0, `${title}: there is no ${metric}`)
      // Prometheus adds this one.
      for (const { label, operator, value } of matchers.filter(
        (each) => each.label !== 'instance',
      )) {
        const values = operator === '=~' ? value.split('|') : [value]
        for (const each of values) {
          const text = `${label}="${each}"`
          assert.ok(
            series.some((one) => one.includes(text)),
            `${title}: ${metric} has no ${text}`,
          )
        }
      }
      return series
    })
    const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
    for (const label of [...labels, ...shown]) {
      const isKnown = label === 'instance' || found.some((one) => one.includes(`${label}="`))
      assert.ok(isKnown, `${title}: nothing has the label ${label}`)
    }
  }
})

test('each panel of the dashboard has a unit, a query and the chosen data source', () => {
  for (const { title, datasource, fieldConfig, targets = [] } of PANELS) {
    assert.ok((fieldConfig?.defaults.unit ?? '') !== '', `${title} has no unit`)
    assert.equal(datasource?.uid, '${datasource}', title)
    assert.ok(targets.length > 0, title)
  }
})

/** Runs a program with a text as its input; rejects if it fails. */
async function output(command: string, args: readonly string[], input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(command, args, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new Error(`${stdout}${stderr}`, { cause: error }))
    })
    child.stdin?.end(input)
  })
}

const READ = `
import json, sys
from prometheus_client import openmetrics, parser
import prometheus_client.openmetrics.parser
read = {'openmetrics': openmetrics.parser, 'plain': parser}[sys.argv[1]].text_string_to_metric_families
samples = [[s.name, s.labels, s.value] for family in read(sys.stdin.read()) for s in family.samples]
print(json.dumps(samples))
`

type PythonSample = readonly [name: string, labels: Readonly<Record<string, string>>, value: number]

async function testPython(): Promise<void> {
  const read = async (text: string, format: string): Promise<readonly PythonSample[]> =>
    JSON.parse(await output(PYTHON, ['-c', READ, format], text)) as PythonSample[]
  const text = await scrape(OPENMETRICS)
  const theirs = await read(text, 'openmetrics')
  assert.deepEqual(
    theirs.map(([, , value]) => value),
    [...readMetrics(text).values()],
  )
  const older = await read(await scrape('text/plain'), 'plain')
  const keys = (samples: readonly PythonSample[]): readonly string[] =>
    samples.map(([name, labels]) => JSON.stringify([name, labels])).toSorted()
  assert.deepEqual(keys(older), keys(theirs))
  const names = theirs.map(([, labels]) => labels['function'])
  assert.ok(names.includes('a "b" \\ \n{c="d"} # EOF'))
}

/** Starts Prometheus with the file of `deploy/`, but for this scheduler and each second. */
async function startPrometheus(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'prometheus-'))
  const config = readFileSync(join(ROOT, 'deploy/prometheus.yml'), 'utf8')
  const changed = config.replaceAll('127.0.0.1:9464', cluster.metricsAddress).replace('15s', '1s')
  await writeFile(join(folder, 'prometheus.yml'), changed)
  const prometheus = startProgram(t, join(PROMETHEUS, 'prometheus'), [
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}/data`,
    '--web.listen-address=127.0.0.1:0',
  ])
  t.after(() => rm(folder, { recursive: true, force: true }))
  const [, address = ''] = await prometheus.logged(/msg="Listening on" address=(\S+)/)
  return address
}

/** Runs a query as the dashboard does; the values of its series. */
async function resultsOf(address: string, expr: string): Promise<readonly number[]> {
  const query = expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '10s')
  const response = await fetch(`http://${address}/api/v1/query?${new URLSearchParams({ query })}`)
  // It listens before it can answer.
  if (response.status === 503) return []
  const answer = (await response.json()) as {
    readonly error?: string
    readonly data?: { readonly result: readonly { readonly value: readonly [number, string] }[] }
  }
  assert.ok(answer.data !== undefined, `${expr}: ${answer.error}`)
  return answer.data.result.map(({ value: [, value] }) => Number(value))
}

async function testPrometheus(t: TestContext): Promise<void> {
  const promtool = join(PROMETHEUS, 'promtool')
  await output(promtool, ['check', 'config', join(ROOT, 'deploy/prometheus.yml')], '')
  await output(promtool, ['check', 'metrics'], await scrape('text/plain'))
  const address = await startPrometheus(t)
  for (const { title, expr } of QUERIES) {
    await until(`${title} shows something: ${expr}`, async () => {
      await work()
      const results = await resultsOf(address, expr)
      return results.length > 0 && results.every(Number.isFinite)
    })
  }
}

if (!isShort) {
  const skip = 'is not installed: node scripts/peers.mjs'
  test(
    'the parsers of the Python client read both formats',
    { skip: !existsSync(PYTHON) && `the Python client ${skip}` },
    testPython,
  )
  test(
    'each query of the dashboard has results in Prometheus',
    { skip: !existsSync(PROMETHEUS) && `Prometheus ${skip}` },
    testPrometheus,
  )
}
