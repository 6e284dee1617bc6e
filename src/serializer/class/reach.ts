// Which objects of a message must be anchors besides its classes. A class is the same in every
// message, so its unit must be, too: what it holds belongs to it alone, or is an anchor itself.
// That is found in two passes. The first writes the message as a single unit and notes here which
// object holds which; from that follows what each class reaches, and what two of them share. The
// second pass writes the message with the anchors known from the beginning.

/** What must be an anchor from the beginning; a captured variable only once its value is known. */
export type Seeds = ReadonlyMap<object, 'object' | 'cell'>

/** An object of the message, or the message itself. */
interface Node {
  readonly object: object | undefined
  kind: 'object' | 'cell'
  /** Whether a unit has it as its own. What travels by name is in any number of units. */
  isOwn: boolean
  /** Each unit that needs it has a copy. */
  isCopied: boolean
  isClass: boolean
  /** The main unit only refers to it: it is a message of its own. */
  isAttached: boolean
  readonly holds: Hold[]
}

interface Hold {
  readonly node: Node
  /** In the unit of an anchor it must be an anchor, too. */
  readonly isPart: boolean
}

/**
 * How often what two units share is looked for: in a list that is linked both ways, each time shows
 * one node more. After that, everything in the units that share something counts as shared.
 */
const MAX_SEARCHES = 8

/** Takes notes of one message, as the first pass meets its objects. */
export class Reach {
  readonly #main: Node = nodeOf(undefined)
  readonly #nodes = new Map<object, Node>()

  /** `holder`: undefined for the root of the message. */
  meet(holder: object | undefined, object: object, isPart: boolean): void {
    const from = holder === undefined ? this.#main : this.#node(holder)
    from.holds.push({ node: this.#node(object), isPart })
  }

  own(object: object): void {
    this.#node(object).isOwn = true
  }

  copy(object: object): void {
    this.#node(object).isCopied = true
  }

  attach(object: object): void {
    this.#node(object).isAttached = true
  }

  noteClass(object: object): void {
    this.#node(object).isClass = true
  }

  noteCell(object: object): void {
    this.#node(object).kind = 'cell'
  }

  /** All anchors, in the order in which they were met. `onShared`: called for what units share. */
  anchors(onShared: (object: object) => void): Seeds {
    const anchors = this.#partsOfClasses()
    for (let search = 0; ; search += 1) {
      const shared = this.#sharedBy(anchors, search >= MAX_SEARCHES)
      if (shared.size === 0) break
      for (const node of shared) {
        anchors.add(node)
        if (node.object !== undefined) onShared(node.object)
      }
    }
    const seeds = new Map<object, 'object' | 'cell'>()
    for (const [object, node] of this.#nodes) if (anchors.has(node)) seeds.set(object, node.kind)
    return seeds
  }

  /** The classes, and whatever must be an anchor in the units of anchors. */
  #partsOfClasses(): Set<Node> {
    const anchors = new Set<Node>()
    for (const node of this.#nodes.values()) if (node.isClass) anchors.add(node)
    const reached = new Set(anchors)
    // The set grows meanwhile.
    for (const { holds } of reached) {
      for (const { node, isPart } of holds) {
        reached.add(node)
        if (isPart && node.isOwn && !node.isCopied) anchors.add(node)
      }
    }
    return anchors
  }

  /** What belongs to two units, if these are the anchors. `isWhole`: all that such units have. */
  #sharedBy(anchors: ReadonlySet<Node>, isWhole: boolean): Set<Node> {
    const owners = new Map<Node, Node>()
    const shared = new Set<Node>()
    const sharing = new Set<Node>()
    for (const owner of [this.#main, ...anchors]) {
      const unit = new Set([owner])
      // The set grows meanwhile.
      for (const { holds } of unit) {
        for (const { node } of holds) {
          if (anchors.has(node) || (owner === this.#main && node.isAttached)) continue
          if (node.isCopied) unit.add(node)
          if (node.isCopied || !node.isOwn || unit.has(node)) continue
          const other = owners.get(node)
          if (other !== undefined) {
            shared.add(node)
            sharing.add(other)
            continue
          }
          owners.set(node, owner)
          unit.add(node)
        }
      }
    }
    if (!isWhole || shared.size === 0) return shared
    sharing.delete(this.#main)
    for (const [node, owner] of owners) if (sharing.has(owner)) shared.add(node)
    return shared
  }

  #node(object: object): Node {
    const known = this.#nodes.get(object)
    if (known !== undefined) return known
    const made = nodeOf(object)
    this.#nodes.set(object, made)
    return made
  }
}

function nodeOf(object: object | undefined): Node {
  return {
    object,
    kind: 'object',
    isOwn: false,
    isCopied: false,
    isClass: false,
    isAttached: false,
    holds: [],
  }
}
