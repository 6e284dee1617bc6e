import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'

const INSPECTOR = JSON.stringify(new URL('inspector.js', import.meta.url).href)

/** A program that inspects a closure in all ways, and prints the results. */
const PROGRAM = `
  import { Inspector } from ${INSPECTOR}
  const inspector = Inspector.open()
  const captured = { x: 1 }
  const fn = () => captured
  const look = () => {
    const { location, scopes } = inspector.functionView(fn)
    const isSeen = scopes.some(({ variables }) => variables.captured === captured)
    const { source } = inspector.script(location.scriptId)
    return [isSeen, source.includes('look at a closure')]
  }
  // look at a closure
  const outcome = inspector === undefined ? 'no inspector' : look().join()
`

interface Outcome {
  readonly stdout: string
  readonly stderr: string
}

/** Runs the program in a separate process, which must exit by itself. */
function run(code: string, ...flags: readonly string[]): Promise<Outcome> {
  const parameters = [...flags, '--input-type=module', '--eval', code]
  return promisify(execFile)(process.execPath, parameters)
}

test('inspecting prints nothing and does not keep the process alive', async () => {
  const { stdout, stderr } = await run(`${PROGRAM}; console.log(outcome)`)
  assert.equal(stdout, 'true,true\n')
  assert.equal(stderr, '')
})

test('a process that can be debugged ends as well', async () => {
  const { stdout, stderr } = await run(`${PROGRAM}; console.log(outcome)`, '--inspect=0')
  assert.equal(stdout, 'true,true\n')
  assert.doesNotMatch(stderr, /attached|Waiting/)
})

test('a process without permission has no inspector', async () => {
  const isOld = process.versions.node.startsWith('20.')
  const flag = isOld ? '--experimental-permission' : '--permission'
  const { stdout } = await run(`${PROGRAM}; console.log(outcome)`, flag, '--allow-fs-read=*')
  assert.equal(stdout, 'no inspector\n')
})

test('a process that must not make code from strings has an inspector', async () => {
  const flag = '--disallow-code-generation-from-strings'
  const { stdout } = await run(`${PROGRAM}; console.log(outcome)`, flag)
  assert.equal(stdout, 'true,true\n')
})

test('a worker thread has its own inspector', async () => {
  const code = `${PROGRAM}
    import { parentPort } from 'node:worker_threads'
    parentPort.postMessage(outcome)`
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`))
  const outcome = await new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  assert.equal(outcome, 'true,true')
  await worker.terminate()
})

test('two copies of the code do not disturb each other', async () => {
  const { stdout } = await run(`${PROGRAM}
    const second = (await import(${INSPECTOR} + '?second')).Inspector.open()
    const { variables } = second.functionView(fn).scopes.at(-1)
    console.log(outcome, second !== inspector, variables.captured === captured, look().join())`)
  assert.equal(stdout, 'true,true true true true,true\n')
})

test('inspected objects are not kept alive', async () => {
  const { stdout } = await run(
    `${PROGRAM}
    class Private { #x = {} }
    const references = []
    const lookAtMany = () => {
      for (let n = 0; n < 500; n += 1) {
        const made = { fn: () => made, bound: fn.bind({}), instance: new Private() }
        inspector.functionView(made.fn)
        inspector.boundView(made.bound)
        inspector.instancePrivates(made.instance)
        references.push(...Object.values(made).map((value) => new WeakRef(value)))
      }
    }
    lookAtMany()
    await new Promise((resolve) => setImmediate(resolve))
    gc()
    console.log(references.filter((reference) => reference.deref() !== undefined).length)`,
    '--expose-gc',
  )
  assert.equal(stdout, '0\n')
})
