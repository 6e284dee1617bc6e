// The inputs that services of Symphony get for tasks of Python clients, loaded by Python.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ProcessorDiedError } from '#src/base/errors.js'
import { Bridge } from '#src/worker/symphony/bridge.js'
import { pickledCall, pickledError } from '#src/worker/symphony/pickle.js'
import { ROOT } from './program.js'
import { pythonTest } from './python.js'
import { temporaryFolder } from './symphony.js'

const PYTHON = join(ROOT, '.venv-interop/bin/python')
const SOURCE = readFileSync(join(ROOT, 'service/symphony_call.py'), 'utf8')
const FLAGS = Buffer.from('0000000003', 'hex')

function python(input: Uint8Array, ...args: readonly string[]): Readonly<Record<string, unknown>> {
  const { stdout, stderr } = spawnSync(PYTHON, args, { input, encoding: 'utf8' })
  assert.equal(stderr, '')
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>
}

/** What Python has pickled for this expression. */
function pickled(expression: string): Buffer {
  const code = `import sys, math, cloudpickle; sys.stdout.buffer.write(cloudpickle.dumps(${expression}))`
  return spawnSync(PYTHON, ['-c', code]).stdout
}

/** How a service calls this function with these arguments; some modules are missing there. */
function call(
  fn: string,
  args: readonly string[],
  hidden: readonly string[] = [],
): Readonly<Record<string, unknown>> {
  const pieces = { fn: pickled(fn), args: args.map(pickled) }
  const input = Buffer.concat(
    pickledCall({ source: SOURCE, module: 'call', ...pieces, flags: FLAGS }),
  )
  return python(input, join(ROOT, 'test/interop/python/symphony_call.py'), ...hidden)
}

pythonTest('function and arguments are what the client has pickled', async () => {
  assert.deepEqual(call('math.pow', ['2', '0.5']), {
    name: 'pow',
    arguments: [2, 0.5],
    result: Math.SQRT2,
    imported: false,
  })
  const long = "'x' * 100_000"
  assert.deepEqual(call('len', [long])['result'], 100_000)
})

pythonTest('a failure has the traceback, with and without tblib', async () => {
  const text = 'ValueError: math domain error'
  const failure = ['ValueError', 'math domain error', text]
  const fn = '(lambda number: math.sqrt(number))'
  assert.deepEqual(call(fn, ['-1']), {
    name: '<lambda>',
    arguments: [-1],
    text,
    failure,
    error: ['ValueError', 'math domain error', null, ['<lambda>']],
    imported: false,
  })
  assert.deepEqual(call(fn, ['-1'], ['tblib'])['error'], [
    'ValueError',
    'math domain error',
    'RemoteTraceback',
    [],
  ])
})

pythonTest('exceptions that are deep or cannot be shown arrive nevertheless', async () => {
  const deep = '(lambda: (lambda f: f(f))(lambda f: f(f)))'
  for (const hidden of [[], ['tblib']]) {
    const { error } = call(deep, [], hidden)
    const [name] = error as readonly string[]
    assert.equal(name, 'RecursionError')
  }
  const raise = "(_ for _ in ()).throw(type('Mute', (Exception,), {'__str__': lambda self: 1 / 0}))"
  const { failure } = call(`(lambda: ${raise})`, [])
  assert.deepEqual((failure as readonly string[]).slice(0, 2), ['Mute', '<no text>'])
})

pythonTest('no exception ends the session; each scheduler has processors of its own', async () => {
  const script = join(ROOT, 'test/interop/python/symphony_units.py')
  const env = { ...process.env, PYTHONPATH: join(ROOT, 'test/interop/symphony') }
  const args = [script, join(ROOT, 'service')]
  const { stdout, stderr } = spawnSync(PYTHON, args, { env, encoding: 'utf8' })
  assert.equal(stderr, '')
  assert.deepEqual(JSON.parse(stdout), {
    failures: [
      ['ValueError', 'x', true],
      ['Broken', '<no text>', false],
      ['Unprintable', '<no text>', true],
      ['str', 'text', false],
      ['Error', 'an exception that cannot be read', false],
    ],
    processes: [
      ['cannot start node, see SCALER_SERVICE_NODE: [Errno 24] Too many open files', 0],
      { signal: 9, stderr: '' },
    ],
    processors: [
      ['start 1', 'a', 'b', 'end'],
      ['start 2', 'c'],
    ],
  })
})

pythonTest('a bridge ends with its worker, even while the library blocks', async (t) => {
  const folder = temporaryFolder(t)
  const library = [
    'import threading',
    'class Message: pass',
    'class SessionCallback: pass',
    'def initialize(): threading.Event().wait()',
  ]
  writeFileSync(join(folder, 'soamapi.py'), library.join('\n'))
  const args = [join(ROOT, 'service/symphony_bridge.py'), 'ScalerService']
  const env = { ...process.env, PYTHONPATH: folder }
  const { status, signal } = spawnSync(PYTHON, args, { env, input: '', timeout: 30_000 })
  assert.deepEqual([status, signal], [0, null])
})

pythonTest(
  'a call of the library that does not return is reported, and ends the bridge',
  async (t) => {
    const config = join(temporaryFolder(t), 'soamapi.json')
    const services = { ScalerService: { file: '' } }
    writeFileSync(config, JSON.stringify({ services, hangingSends: 1 }))
    const python = join(temporaryFolder(t), 'python')
    const variables = `PYTHONPATH=${join(ROOT, 'test/interop/symphony')} SOAMAPI_CONFIG=${config}`
    writeFileSync(python, `#!/bin/sh\n${variables} exec ${PYTHON} "$@"\n`, { mode: 0o755 })
    const lines: string[] = []
    // Not shorter: on a busy machine, a bridge may take a moment to answer.
    const options = { python, serviceName: 'ScalerService', pulseIntervalMs: 250 }
    const bridge: Bridge = new Bridge(options, {
      onReady: () => bridge.submit(0, [Buffer.from('input')]),
      onOutput: () => {},
      onFailure: () => {},
      onLine: (line) => lines.push(line),
      onExit: ({ exitCode }, _lastRun, reason) => lines.push(`exit code ${exitCode}: ${reason}`),
    })
    await bridge.exited
    const [warning = '', end = ''] = lines
    const text = /send_task_input of IBM's library has not returned for [0-9]+ seconds$/
    assert.match(warning, text)
    assert.match(end, /^exit code 1: /)
    assert.match(end, text)
    assert.equal(lines.length, 2)
  },
)

pythonTest('the files are those of Python 3.9', async () => {
  for (const name of ['bridge', 'call', 'service']) {
    const file = join(ROOT, `service/symphony_${name}.py`)
    const code = 'import ast, sys; ast.parse(sys.stdin.read(), feature_version=(3, 9))'
    const { status, stderr } = spawnSync(PYTHON, ['-c', code], { input: readFileSync(file) })
    assert.equal(status, 0, stderr.toString())
  }
})

pythonTest('clients in a task have the priority of the task plus 1', async () => {
  const priority = "(lambda: __import__('scaler').Client._Client__get_parent_task_priority())"
  assert.equal(call(priority, [])['result'], 3)
  assert.deepEqual(call("(lambda: 'scaler')", [], ['scaler'])['result'], 'scaler')
})

pythonTest('our errors are exceptions of Python', async () => {
  const show = 'import sys, pickle, json; e = pickle.loads(sys.stdin.buffer.read()); '
  const code = `${show} print(json.dumps({"class": str(type(e)), "args": e.args}))`
  const shown = (error: Error): unknown => python(pickledError(error), '-c', code)
  assert.deepEqual(shown(new ProcessorDiedError('ended: "ä"\n', { stderr: '' })), {
    class: "<class 'scaler.utility.exceptions.ProcessorDiedError'>",
    args: ['ended: "ä"\n'],
  })
  assert.deepEqual(shown(new Error('')), { class: "<class 'RuntimeError'>", args: [''] })
})
