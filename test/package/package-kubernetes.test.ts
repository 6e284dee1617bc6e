// The Kustomize base in deploy/kubernetes: rendered by kubectl, checked against the schemas of
// Kubernetes, and its commands against ours.

import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { AGENT_OPTIONS } from '#src/worker/agent/options.js'
import { LIBRARY, NO_LIBRARY, readYaml } from '../integration/kubernetes/rights.js'
import { NO_SCHEMAS, RELEASES, Schemas } from '../integration/kubernetes/schema.js'
import { ROOT } from './command.js'

const execute = promisify(execFile)
const BASE = join(ROOT, 'deploy/kubernetes')
const SCALER = join(ROOT, 'dist/cli/scaler.js')
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0
const skip = NO_LIBRARY || NO_SCHEMAS || (hasKubectl ? false : 'no kubectl')

interface Probe {
  readonly httpGet?: { readonly port: string; readonly path: string }
  readonly tcpSocket?: { readonly port: string }
}

interface SecurityContext {
  readonly runAsNonRoot?: boolean
  readonly readOnlyRootFilesystem?: boolean
  readonly allowPrivilegeEscalation?: boolean
  readonly capabilities?: { readonly drop?: readonly string[] }
  readonly seccompProfile?: { readonly type: string }
}

interface Container {
  readonly name: string
  readonly image: string
  readonly args: readonly string[]
  readonly env?: readonly { readonly name: string }[]
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly resources?: Readonly<Record<'limits' | 'requests', Readonly<Record<string, string>>>>
  readonly securityContext?: SecurityContext
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
}

interface PodSpec {
  readonly serviceAccountName?: string
  readonly automountServiceAccountToken?: boolean
  readonly terminationGracePeriodSeconds?: number
  readonly securityContext?: SecurityContext
  readonly containers: readonly Container[]
  readonly volumes?: readonly {
    readonly name: string
    readonly configMap?: { readonly name: string }
  }[]
}

interface Labelled {
  readonly name: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
}

/** An object of the base, with what any of the kinds may have. */
interface Rendered {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Labelled
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: {
    readonly selector?: Readonly<Record<string, unknown>>
    readonly podSelector?: { readonly matchLabels?: Readonly<Record<string, string>> }
    readonly ports?: readonly { readonly name: string; readonly port: number }[]
    readonly ingress?: readonly { readonly ports: readonly { readonly port: string }[] }[]
    readonly template?: { readonly metadata: Labelled; readonly spec: PodSpec }
  }
}

async function render(): Promise<readonly Rendered[]> {
  const { stdout, stderr } = await execute('kubectl', ['kustomize', BASE])
  assert.equal(stderr, '')
  return readYaml(stdout) as readonly unknown[] as readonly Rendered[]
}

/** The pods, by the names of what starts them. */
function podsIn(objects: readonly Rendered[]): ReadonlyMap<string, PodSpec> {
  return new Map(
    objects.flatMap(({ metadata, spec }) => {
      return spec?.template === undefined ? [] : [[metadata.name, spec.template.spec] as const]
    }),
  )
}

function containersIn(objects: readonly Rendered[]): readonly Container[] {
  return [...podsIn(objects).values()].flatMap(({ containers }) => containers)
}

/** The one container of something that starts pods. */
function containerOf(objects: readonly Rendered[], name: string): Container {
  const [only, ...others] = podsIn(objects).get(name)?.containers ?? []
  assert.ok(only !== undefined && others.length === 0, name)
  return only
}

function dataOf(objects: readonly Rendered[], prefix: string): Readonly<Record<string, string>> {
  const found = objects.find(({ kind, metadata }) => {
    return kind === 'ConfigMap' && metadata.name.startsWith(prefix)
  })
  return found?.data ?? {}
}

test('kubectl renders it; the schemas of Kubernetes allow all of it', { skip }, async () => {
  const objects = await render()
  const kinds = objects.map(({ kind }) => kind).sort()
  const expected = `
    ConfigMap ConfigMap Deployment Deployment Deployment Namespace NetworkPolicy NetworkPolicy
    NetworkPolicy NetworkPolicy Role RoleBinding Service Service ServiceAccount StatefulSet`
  assert.deepEqual(kinds, expected.trim().split(/\s+/))
  for (const release of RELEASES) {
    const schemas = new Schemas(release)
    for (const object of objects) {
      const { kind, metadata } = object
      assert.deepEqual(schemas.offencesOf({ ...object }), [], `${kind} ${metadata.name}`)
      if (kind !== 'Namespace') assert.equal(metadata.namespace, 'scaler')
    }
  }
})

test('the schemas do find unknown fields, missing ones, and wrong types', { skip }, () => {
  const [release] = RELEASES
  const offences = new Schemas(release).offencesOf({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: { replicas: 'one', selector: {}, template: { spec: { containers: [{ imge: 'x' }] } } },
  })
  const container = 'spec.template.spec.containers[0]'
  assert.deepEqual(
    offences.map(({ path, what }) => `${path}: ${what}`),
    [
      'spec.replicas: expected integer or null, got string',
      `${container}.name: required value`,
      `${container}.imge: unknown field`,
    ],
  )
})

test('its commands exist, with their options', { skip }, async () => {
  const objects = await render()
  const containers = containersIn(objects)
  assert.equal(containers.length, 4)
  for (const { name, args } of containers) {
    if (name === 'allocator') continue
    const words = args.map((arg) => arg.replace('$(POD_IP)', '10.0.0.1'))
    await execute(process.execPath, [SCALER, 'config', ...words])
  }
  assert.match(containerOf(objects, 'scaler-scheduler').image, /^registry\.example\/scaler-ts:/)
})

test(
  'the allocator has valid options, and starts pods that fit the namespace',
  { skip },
  async () => {
    const objects = await render()
    const { args, envFrom = [], volumeMounts = [] } = containerOf(objects, 'scaler-allocator')
    const variables = dataOf(objects, 'scaler-allocator-')
    assert.equal(dataOf(objects, envFrom[0]?.configMapRef.name ?? '?'), variables)
    const path = variables['SCALER_POD_TEMPLATE'] ?? ''
    assert.equal(path, `${volumeMounts[0]?.mountPath}/pod-template.yaml`)
    const template = join(BASE, 'pod-template.yaml')
    const text = await readFile(template, 'utf8')
    assert.equal(dataOf(objects, 'scaler-pod-template-')['pod-template.yaml'], text)
    const own = { ...variables, SCALER_POD_TEMPLATE: template, NODE_PATH: LIBRARY }
    const env = { ...process.env, ...own }
    const command = [SCALER, ...args, '--print-manifest']
    const { stdout } = await execute(process.execPath, command, { env })
    const job = JSON.parse(stdout) as Rendered
    for (const release of RELEASES)
      assert.deepEqual(new Schemas(release).offencesOf({ ...job }), [])
    assert.equal(job.spec?.template?.metadata.labels?.['app.kubernetes.io/name'], 'scaler-worker')
    checkRestricted('Job', job.spec?.template?.spec ?? { containers: [] })
    // As many cores as workers.
    assert.equal(job.spec?.template?.spec.containers[0]?.resources?.requests['cpu'], '2')
  },
)

/** What the strictest of the Pod Security Standards asks for, and that nothing may be written. */
function checkRestricted(name: string, { securityContext, containers }: PodSpec): void {
  assert.equal(securityContext?.runAsNonRoot, true, name)
  assert.equal(securityContext.seccompProfile?.type, 'RuntimeDefault', name)
  for (const { securityContext: own, resources } of containers) {
    assert.equal(own?.allowPrivilegeEscalation, false, name)
    assert.deepEqual(own.capabilities?.drop, ['ALL'], name)
    assert.equal(own.readOnlyRootFilesystem, true, name)
    assert.ok(resources?.requests['memory'] && resources.limits['memory'], name)
  }
}

test('pods have few rights, and credentials only where they are needed', { skip }, async () => {
  for (const [name, pod] of podsIn(await render())) {
    checkRestricted(name, pod)
    const isAllocator = name === 'scaler-allocator'
    assert.equal(pod.automountServiceAccountToken, isAllocator ? undefined : false, name)
    assert.equal(pod.serviceAccountName, isAllocator ? 'scaler-allocator' : undefined, name)
  }
})

test('probes, services and policies name ports and labels that exist', { skip }, async () => {
  const objects = await render()
  const containers = containersIn(objects)
  const ports = new Map(
    containers.flatMap(({ ports: own = [] }) => {
      return own.map(({ name, containerPort }) => [name, containerPort] as const)
    }),
  )
  for (const { startupProbe, livenessProbe, readinessProbe, ports: own = [] } of containers) {
    for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
      const port = probe?.httpGet?.port ?? probe?.tcpSocket?.port
      if (port !== undefined) assert.ok(own.some(({ name }) => name === port))
    }
  }
  const labels = objects.map(({ spec }) => spec?.template?.metadata.labels ?? {})
  const isSelected = (wanted: Readonly<Record<string, unknown>>): boolean => {
    return labels.some((each) =>
      Object.entries(wanted).every(([key, value]) => each[key] === value),
    )
  }
  for (const { kind, metadata, spec } of objects) {
    if (kind === 'Service') {
      assert.ok(isSelected(spec?.selector ?? { none: '' }), metadata.name)
      for (const { name, port } of spec?.ports ?? []) assert.equal(ports.get(name), port)
    }
    if (kind === 'NetworkPolicy') {
      assert.ok(isSelected(spec?.podSelector?.matchLabels ?? {}), metadata.name)
      const named = (spec?.ingress ?? []).flatMap((rule) => rule.ports)
      for (const { port } of named) assert.ok(ports.has(port), port)
    }
  }
})

test('workers get the time that they need to stop', { skip }, async () => {
  const { drainMs, killDelayMs, cancelGraceMs } = AGENT_OPTIONS
  const steps = [drainMs.commandDefault, killDelayMs.default, cancelGraceMs.default]
  const seconds = steps.reduce<number>((sum, ms) => sum + Number(ms), 0) / 1_000
  const pods = podsIn(await render())
  assert.ok(Number(pods.get('scaler-worker')?.terminationGracePeriodSeconds) > seconds)
  // A server copies its content to others for up to a minute.
  assert.ok(Number(pods.get('scaler-object-storage')?.terminationGracePeriodSeconds) > 65)
})
