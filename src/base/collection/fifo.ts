// A queue in order of arrival from which any item can be taken out, each operation in constant
// time. (A `Map` would do, but taking its first key again and again walks over the holes left
// before it.)

/** A place in a queue. Its owner may only pass it to `remove`. */
export interface FifoNode<T> {
  readonly item: T
  previous: FifoNode<T> | undefined
  next: FifoNode<T> | undefined
  queue: Fifo<T> | undefined
}

/** First in, first out, with removal from anywhere. */
export class Fifo<T> {
  #first: FifoNode<T> | undefined
  #last: FifoNode<T> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The item that has waited longest. */
  get first(): T | undefined {
    return this.#first?.item
  }

  /** Adds at the end. Keep the node to be able to remove the item. */
  push(item: T): FifoNode<T> {
    const node: FifoNode<T> = { item, previous: this.#last, next: undefined, queue: this }
    if (this.#last === undefined) this.#first = node
    else this.#last.next = node
    this.#last = node
    this.#size += 1
    return node
  }

  /** Adds at the front: the item is taken next. */
  unshift(item: T): FifoNode<T> {
    const node: FifoNode<T> = { item, previous: undefined, next: this.#first, queue: this }
    if (this.#first === undefined) this.#last = node
    else this.#first.previous = node
    this.#first = node
    this.#size += 1
    return node
  }

  /** Adds before an item that is in this queue. */
  insertBefore(item: T, next: FifoNode<T>): FifoNode<T> {
    const { previous } = next
    if (previous === undefined) return this.unshift(item)
    const node: FifoNode<T> = { item, previous, next, queue: this }
    previous.next = node
    next.previous = node
    this.#size += 1
    return node
  }

  /** Adds after an item that is in this queue. */
  insertAfter(item: T, previous: FifoNode<T>): FifoNode<T> {
    const { next } = previous
    return next === undefined ? this.push(item) : this.insertBefore(item, next)
  }

  /** Removes and returns the item that has waited longest. */
  shift(): T | undefined {
    const node = this.#first
    if (node === undefined) return undefined
    this.remove(node)
    return node.item
  }

  /** Removes one item. Returns false if it had left already. */
  remove(node: FifoNode<T>): boolean {
    if (node.queue !== this) return false
    if (node.previous === undefined) this.#first = node.next
    else node.previous.next = node.next
    if (node.next === undefined) this.#last = node.previous
    else node.next.previous = node.previous
    node.previous = undefined
    node.next = undefined
    node.queue = undefined
    this.#size -= 1
    return true
  }

  /** All items, oldest first. Items may be removed while iterating, the current one included. */
  *[Symbol.iterator](): Generator<T, void, undefined> {
    let node = this.#first
    while (node !== undefined) {
      const next = node.next
      yield node.item
      node = next
    }
  }

  /** All items, newest first. The current one may be removed while iterating. */
  *backwards(): Generator<T, void, undefined> {
    let node = this.#last
    while (node !== undefined) {
      const previous = node.previous
      yield node.item
      node = previous
    }
  }
}
