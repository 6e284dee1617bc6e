// What the provider `kubernetes` says and prints without a cluster, and without its library.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Allocator, ConfigError } from 'scaler-ts'
import { SCALER } from '../allocation.js'
import { NO_SCHEMAS, RELEASES, Schemas } from './schema.js'

const ADDRESS = 'tcp://scheduler:2345'
const PACKAGE = '@kubernetes/client-node'
const NEEDED = `the provider kubernetes needs the package ${PACKAGE}: npm install ${PACKAGE}@1`

interface End {
  readonly code: number | string | undefined
  readonly stdout: string
  readonly stderr: string
}

/** Runs `scaler allocate kubernetes`. */
function allocate(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<End> {
  const command = [SCALER, 'allocate', 'kubernetes', ADDRESS, ...args]
  return new Promise((resolve) => {
    const options = { env: { ...process.env, NODE_PATH: '', ...env } }
    execFile(process.execPath, command, options, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? undefined, stdout, stderr })
    })
  })
}

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'kube-command-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

test('without the library, one line says how to install it', async () => {
  const { code, stderr } = await allocate(['--image', 'scaler-ts'])
  assert.deepEqual([code, stderr], [2, `scaler allocate: ${NEEDED}\n`])
  const options = { provider: 'kubernetes', address: ADDRESS, image: 'scaler-ts' } as const
  const required = createRequire(import.meta.url)('scaler-ts') as { Allocator: typeof Allocator }
  for (const each of [Allocator, required.Allocator]) {
    await assert.rejects(each.start(options), (error) => {
      return error instanceof ConfigError && error.message === NEEDED
    })
  }
})

/** What is said about a library of this version, with this text. */
async function endWith(t: TestContext, version: string, text: string): Promise<End> {
  const folder = makeFolder(t)
  const library = join(folder, PACKAGE)
  mkdirSync(library, { recursive: true })
  const manifest = { name: PACKAGE, version, main: 'index.js' }
  writeFileSync(join(library, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(library, 'index.js'), text)
  return allocate(['--image', 'scaler-ts'], { NODE_PATH: folder })
}

test('a version of the library that is too old, or too new for this Node, is refused', async (t) => {
  const old = await endWith(t, '0.22.3', 'exports.KubeConfig = class {}')
  const tooOld = `${PACKAGE} 0.22.3 is too old for the provider kubernetes`
  const advice = `npm install ${PACKAGE}@1`
  assert.deepEqual([old.code, old.stderr], [2, `scaler allocate: ${tooOld}: ${advice}\n`])
  const young = await endWith(t, '9.0.0', "throw new Error('no such function')")
  const tooNew = `${PACKAGE} 9.0.0 cannot be loaded by Node ${process.versions.node}`
  const line = `scaler allocate: ${tooNew} (no such function): ${advice}\n`
  assert.deepEqual([young.code, young.stderr], [2, line])
})

test('pod templates that are wrong are refused, and the error names the option', async (t) => {
  const path = join(makeFolder(t), 'template.json')
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['[]', /expected an object with metadata and spec/],
    ['{', /template\.json: /],
    ['{"kind":"Pod"}', /expected only metadata and spec, got kind/],
    ['{"spec":[]}', /spec is not an object/],
    ['{"metadata":{"labels":1}}', /metadata\.labels is not an object/],
    ['{"spec":{"restartPolicy":"Always"}}', /the restartPolicy of workers is Never/],
    ['{"spec":{"containers":[1]}}', /spec\.containers is not a list of objects/],
    ['{"spec":{"containers":[{"name":"main"}]}}', /"main" has no image; .* is called worker/],
    ['{"spec":{"containers":[{"name":"worker","args":[]}]}}', /use --worker-command/],
  ]
  for (const [text, message] of wrong) {
    writeFileSync(path, text)
    const { code, stderr } = await allocate([
      '--image',
      'scaler-ts',
      '--pod-template',
      path,
      '--print-manifest',
    ])
    assert.equal(code, 2, text)
    assert.match(stderr, message)
    assert.match(stderr, /^scaler allocate: --pod-template: .*\n$/)
  }
  const missing = await allocate(['--image', 'scaler-ts', '--pod-template', '/nowhere'])
  assert.match(missing.stderr, /^scaler allocate: --pod-template: ENOENT.*\n$/)
})

test('--print-manifest prints a Job that Kubernetes accepts', async (t) => {
  const path = join(makeFolder(t), 'template.json')
  const limits = { memory: '2Gi' }
  const template = {
    metadata: { labels: { team: 'a', 'scaler-ts/unit': 'mine' }, annotations: { x: 'y' } },
    spec: {
      nodeSelector: { pool: 'batch' },
      securityContext: { runAsUser: 7 },
      containers: [
        { name: 'log', image: 'log:1' },
        { name: 'worker', resources: { limits }, env: [{ name: 'A', value: '1' }] },
      ],
    },
  }
  writeFileSync(path, JSON.stringify(template))
  const size = ['--workers-per-unit', '2', '--lifetime-seconds', '3600', '--capabilities', 'gpu=1']
  const more = ['--worker-args=--drain-seconds 60', '--preamble', 'umask 077']
  const names = ['--image', 'r.example/w:1', '--name', 'Night_Run', '--service-account', 'runner']
  const files = ['--pod-template', path, '--print-manifest']
  const { code, stdout, stderr } = await allocate([...size, ...more, ...names, ...files])
  assert.deepEqual([code, stderr], [undefined, ''])
  const labels = {
    'app.kubernetes.io/managed-by': 'scaler-allocate',
    'scaler-ts/allocator': 'Night_Run',
    'scaler-ts/scheduler': 'e90c956a',
    'scaler-ts/unit': '00000000',
    team: 'a',
  }
  const command =
    'umask 077\nexec scaler_cluster -n 2 --idle-timeout-seconds 90 --lifetime-seconds 3600 ' +
    '--capabilities gpu=1 --drain-seconds 60 --allocation "Night_Run/00000000" ' +
    `${ADDRESS}\n`
  const job = JSON.parse(stdout) as Record<string, unknown>
  assert.deepEqual(job, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'scaler-night-run-00000000', labels, annotations: { x: 'y' } },
    spec: {
      backoffLimit: 0,
      ttlSecondsAfterFinished: 300,
      template: {
        metadata: {
          labels: { ...labels, 'app.kubernetes.io/name': 'scaler-worker' },
          annotations: { x: 'y' },
        },
        spec: {
          terminationGracePeriodSeconds: 85,
          activeDeadlineSeconds: 4285,
          serviceAccountName: 'runner',
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          shareProcessNamespace: true,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 7,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          nodeSelector: { pool: 'batch' },
          restartPolicy: 'Never',
          containers: [
            {
              name: 'worker',
              image: 'r.example/w:1',
              command: ['/bin/sh', '-c', command],
              resources: { requests: { cpu: '2' }, limits },
              securityContext: {
                allowPrivilegeEscalation: false,
                capabilities: { drop: ['ALL'] },
              },
              env: [{ name: 'A', value: '1' }],
            },
            { name: 'log', image: 'log:1' },
          ],
        },
      },
    },
  })
  if (NO_SCHEMAS !== false) return
  for (const release of RELEASES) assert.deepEqual(new Schemas(release).offencesOf(job), [])
})
