// The tasks of the simulated world, as data, and their expected outcomes: computed here in the
// simplest way, without schedulers. Values are texts.

import type { TaskCapability } from '#src/wire/message.js'

/** Separates the name of a graph from that of its node. */
const NODE_NUMBER = /[nr]\d+$/

/** How a task ends. */
export type ProgramEnd =
  /** It returns a value. */
  | 'returns'
  /** It throws. */
  | 'throws'
  /** It calls `process.exit`: the processor can still report it. */
  | 'exits'
  /** It takes its process down without a message. */
  | 'crashes'

/** A task as its author wrote it. */
export interface Program {
  /** Unique in its world. */
  readonly name: string
  /** The function; tasks of one function differ in everything else. */
  readonly fn: string
  /** How long it computes, in milliseconds; before its children, if it has any. */
  readonly ms: number
  /** It blocks the thread meanwhile. */
  readonly blocks: boolean
  readonly end: ProgramEnd
  /** The number of first attempts in which it throws. */
  readonly failsFirst: number
  /** It uses its abort signal, and ends this long after it; -1: it does not. */
  readonly abortMs: number
  /** How much longer its value is, in bytes. */
  readonly pad: number
  /** The tasks that it submits and awaits. */
  readonly children: readonly Program[]
  /** One after the other. */
  readonly oneByOne: boolean
  /** Its options. */
  readonly timeoutMs: number
  readonly retries: number
  readonly deathLimit: number
  readonly priority: number
}

/** The outcome of a task without faults. */
export type RightOutcome =
  | { readonly type: 'value'; readonly text: string }
  /** It throws this. */
  | { readonly type: 'error'; readonly text: string }
  /** It takes its processor down. */
  | { readonly type: 'death' }

/** The value of a call. */
export function valueOf(program: Program, inputs: readonly string[]): string {
  const text = `${program.name}(${inputs.map(short).join(',')})`
  return program.pad === 0 ? text : text + '.'.repeat(program.pad)
}

/** The error of a task itself. */
export function errorOf(program: Program): string {
  return `E:${program.name}`
}

/** The error of a parent when a child has not returned. */
export function childErrorOf(program: Program, child: Program, outcome: string): string {
  return `C:${program.name}<${child.name}:${outcome}>`
}

/** The outcome of a task itself, given its inputs. */
export function evaluate(program: Program, inputs: readonly string[]): RightOutcome {
  if (program.end === 'exits' || program.end === 'crashes') return { type: 'death' }
  const values: string[] = []
  for (const child of program.children) {
    const outcome = evaluate(child, [])
    if (outcome.type === 'death') return { type: 'error', text: 'C:' }
    if (outcome.type === 'error') {
      const text = childErrorOf(program, child, outcome.text)
      return { type: 'error', text }
    }
    values.push(outcome.text)
  }
  const isTried = program.failsFirst > program.retries
  if (program.end === 'throws' || isTried) return { type: 'error', text: errorOf(program) }
  return { type: 'value', text: valueOf(program, [...inputs, ...values]) }
}

/**
 * The required capabilities, by the name of the task: none for most, and the same for all nodes of
 * a graph. Tasks with children have no units: others like it, which wait for theirs, could hold all
 * that these need.
 */
export function needsOf(programs: readonly Program[]): readonly TaskCapability[] {
  const [{ name } = { name: '' }] = programs
  const place = placeOf(name)
  if (place === 0) return [{ name: 'linux', value: -1 }]
  const isParent = programs.some(({ children }) => children.length > 0)
  if (!mayNeedUnits(name) || isParent) return []
  return [{ name: 'gpu', value: place === 3 ? 2 : 1 }]
}

/** Whether a program of this name may need units: then it may have to wait for those of others. */
export function mayNeedUnits(name: string): boolean {
  const place = placeOf(name)
  return place > 0 && place <= 3
}

function placeOf(name: string): number {
  return hashOf(name.replace(NODE_NUMBER, '')) % 8
}

/** How long it computes in all, with its children, in milliseconds. */
export function workOf(program: Program): number {
  const tries = 1 + Math.min(program.failsFirst, program.retries)
  return program.children.reduce((sum, child) => sum + workOf(child), program.ms) * tries
}

/** A program and all its descendants. */
export function* withChildren(program: Program): Generator<Program> {
  yield program
  for (const child of program.children) yield* withChildren(child)
}

/** Long texts by their hash: values made of values would grow without bound. */
function short(text: string): string {
  return text.length < 24 ? text : `#${hashOf(text).toString(16)}`
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  }
  return hash >>> 0
}
