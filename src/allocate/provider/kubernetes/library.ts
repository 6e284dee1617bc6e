// The client library of Kubernetes, an optional peer of this package: it reads kubeconfigs and
// knows all ways to log in. Loaded only by this provider, and only here.

import { readFile } from 'node:fs/promises'
import type { RequestOptions } from 'node:http'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { ConfigError } from '../../../base/errors.js'
import { messageOf } from '../../../base/text.js'
import type { CheckedAllocatorOptions } from '../../options.js'
import type { ApiAccess } from './api.js'
import { checkPodTemplate, type PodTemplate } from './job.js'

const PACKAGE = '@kubernetes/client-node'
const INSTALL = `npm install ${PACKAGE}@1`
const OLDEST_MAJOR = 1

/** What is used of the library. */
interface Library {
  readonly KubeConfig: new () => KubeConfig
}

interface KubeConfig {
  readonly contexts: readonly { readonly name: string; readonly namespace?: string }[]
  loadFromDefault(): void
  getCurrentContext(): string
  setCurrentContext(name: string): void
  getCurrentCluster(): { readonly server: string } | null
  applyToHTTPSOptions(options: RequestOptions): Promise<void>
}

/** What it has if there is neither a kubeconfig nor a service account. */
const NO_CONFIG = 'http://localhost:8080'

/**
 * Finds out where the API server is and how to log in: from `KUBECONFIG`, `~/.kube/config`, or the
 * service account of the pod. Rejects with `ConfigError` if the library or all of these are
 * missing, or the context is unknown.
 */
export async function openAccess(options: CheckedAllocatorOptions): Promise<ApiAccess> {
  const { KubeConfig } = await loadLibrary()
  const config = new KubeConfig()
  try {
    config.loadFromDefault()
  } catch (error) {
    throw new ConfigError(`the kubeconfig cannot be read: ${messageOf(error)}`, { cause: error })
  }
  const names = config.contexts.map(({ name }) => name)
  const { context: wanted } = options
  if (wanted !== undefined) {
    if (!names.includes(wanted)) {
      const known = names.length === 0 ? 'there are none' : `there are ${names.join(', ')}`
      throw new ConfigError(`option context: ${JSON.stringify(wanted)} is unknown; ${known}`)
    }
    config.setCurrentContext(wanted)
  }
  const server = config.getCurrentCluster()?.server ?? NO_CONFIG
  if (server === NO_CONFIG) {
    const text = 'neither a kubeconfig (KUBECONFIG, ~/.kube/config) with a current context'
    throw new ConfigError(`there is ${text}, nor a service account`)
  }
  const current = config.contexts.find(({ name }) => name === config.getCurrentContext())
  const namespace = options.namespace ?? (current?.namespace?.trim() || 'default')
  return { server, namespace, prepare: (request) => config.applyToHTTPSOptions(request) }
}

/**
 * The pod template of the options; an empty one by default. Rejects with `ConfigError` if the file
 * cannot be read or is wrong.
 */
export async function readPodTemplate({
  podTemplate: path,
}: CheckedAllocatorOptions): Promise<PodTemplate> {
  if (path === undefined) return {}
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`option podTemplate: ${messageOf(error)}`, { cause: error })
  }
  const load = path.endsWith('.json') ? JSON.parse : loaderOfYaml()
  let value: unknown
  try {
    value = load(text)
  } catch (error) {
    const [line = ''] = messageOf(error).split('\n')
    throw new ConfigError(`option podTemplate: ${path}: ${line}`, { cause: error })
  }
  return checkPodTemplate(value)
}

async function loadLibrary(): Promise<Library> {
  const path = pathOfLibrary()
  const version = versionOf(path)
  if (Number(version.split('.')[0]) < OLDEST_MAJOR) {
    const text = `${PACKAGE} ${version} is too old for the provider kubernetes`
    throw new ConfigError(`${text}: ${INSTALL}`)
  }
  try {
    return (await import(pathToFileURL(path).href)) as Library
  } catch (error) {
    // Newer versions need a newer Node.
    const text = `${PACKAGE} ${version} cannot be loaded by Node ${process.versions.node}`
    throw new ConfigError(`${text} (${messageOf(error)}): ${INSTALL}`, { cause: error })
  }
}

/** The parser of the library's own kubeconfigs. */
function loaderOfYaml(): (text: string) => unknown {
  const yaml = createRequire(pathOfLibrary())('js-yaml') as { load(text: string): unknown }
  return (text) => yaml.load(text)
}

function pathOfLibrary(): string {
  try {
    return createRequire(import.meta.url).resolve(PACKAGE)
  } catch (error) {
    const text = `the provider kubernetes needs the package ${PACKAGE}`
    throw new ConfigError(`${text}: ${INSTALL}`, { cause: error })
  }
}

function versionOf(path: string): string {
  const folder = path.slice(0, path.lastIndexOf(PACKAGE) + PACKAGE.length)
  const { version } = createRequire(path)(`${folder}/package.json`) as { version: string }
  return version
}
