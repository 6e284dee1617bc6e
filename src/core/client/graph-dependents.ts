// What depends on a call of a graph. Made only when a target is cancelled.

import type { GraphNodes } from './graph-nodes.js'

/** The calls of a graph that need others. */
export class GraphDependents {
  /** Those that use call n directly are `#users[#starts[n]]` to before `#starts[n + 1]`. */
  readonly #starts: Int32Array
  readonly #users: Int32Array
  /** By position: it has been taken. */
  readonly #taken: Uint8Array

  /** Looks at every argument of every call once. */
  constructor(nodes: GraphNodes) {
    this.#starts = new Int32Array(nodes.count + 1)
    this.#taken = new Uint8Array(nodes.count)
    forEachUse(nodes, (input) => {
      this.#starts[input + 1] = (this.#starts[input + 1] ?? 0) + 1
    })
    for (let position = 0; position < nodes.count; position += 1) {
      this.#starts[position + 1] = (this.#starts[position + 1] ?? 0) + (this.#starts[position] ?? 0)
    }
    const next = this.#starts.slice()
    this.#users = new Int32Array(this.#starts[nodes.count] ?? 0)
    forEachUse(nodes, (input, user) => {
      const at = next[input] ?? 0
      this.#users[at] = user
      next[input] = at + 1
    })
  }

  /**
   * The calls that need the one at `position`, directly or through others, without those that were
   * taken before: taking all of them one by one looks at every use once.
   */
  take(position: number): number[] {
    const found: number[] = []
    const open = [position]
    for (let call = open.pop(); call !== undefined; call = open.pop()) {
      for (let at = this.#starts[call] ?? 0; at < (this.#starts[call + 1] ?? 0); at += 1) {
        const user = this.#users[at] ?? 0
        if (this.#taken[user] === 1) continue
        this.#taken[user] = 1
        found.push(user)
        open.push(user)
      }
    }
    return found
  }
}

function forEachUse(nodes: GraphNodes, tell: (input: number, user: number) => void): void {
  for (let user = 0; user < nodes.count; user += 1) {
    const end = nodes.argsStart(user + 1)
    for (let at = nodes.argsStart(user); at < end; at += 1) {
      const input = nodes.argAt(at)
      if (input >= 0) tell(input, user)
    }
  }
}
