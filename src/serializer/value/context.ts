// What the units of one message share while it is written: anchors, what the analyst said of each
// function, and what the message needs beside its units. A round is one attempt at writing it.

import { types } from 'node:util'
import { type MessageUnits, PREFIX, type Shipment } from '../bytes/message.js'
import { type Anchor, type AnchorOrigin, AnchorTable } from '../class/anchors.js'
import type { ClassCodec } from '../class/codecs.js'
import { hasOwnPrototype } from '../class/member.js'
import { Reach, type Seeds } from '../class/reach.js'
import type { KnownThings } from '../class/registry.js'
import type { FunctionParts, SourceParts } from '../function/parts.js'
import { SteadyCheck } from '../function/steady.js'
import { UnchangedCheck } from '../function/unchanged.js'
import { isExtended } from '../function/writer.js'
import { type AnyFunction, ownValue } from '../module/native.js'
import { readText, Refusal } from '../refusal.js'
import { ClassCheck, Lineages } from './lineage.js'
import type { MessageOptions, WriterTools } from './message.js'
import { capturesOn, type Place, type Strictness } from './place.js'
import { PrivateEntries } from './private-entries.js'
import { ModuleViews } from './views.js'
import { Unit } from './unit.js'

/** What a worker makes once for all tasks: the function, or some of its attachments. */
export type Sharing = Pick<Shipment, 'isSteady' | 'attachments'>

/** What the unit of an anchor begins with. */
interface AnchorBegin {
  readonly object: object
  readonly isClass: boolean
  /** For a captured variable: what it holds. */
  readonly cell: { readonly value: unknown } | undefined
}

/** One message after the other. */
export class MessageContext {
  readonly main: Unit
  /** A property, as it is asked for each object. */
  hasAnchors = false
  readonly views: ModuleViews = new ModuleViews()
  /** What the last message with code says of what can be made once for all tasks. */
  sharing: Sharing = { isSteady: false, attachments: [] }
  /** Why `remake` has made nothing again: the end of a reason. */
  notRemade = ''
  readonly tools: WriterTools
  #options: MessageOptions = { strictness: 'strict' }
  /** Functions of this message, for all its rounds. */
  #parts = new Map<AnyFunction, FunctionParts | Refusal>()
  #analyzed = new Set<AnyFunction>()
  #leftOut = new Map<AnyFunction, Refusal>()
  #classes = new Set<AnyFunction>()
  #special = new Set<object>()
  #isSurprised = false
  /** Of this round. */
  #anchors: AnchorTable
  #known: KnownThings
  readonly #currentKnown = (): KnownThings => this.#known
  stores: PrivateEntries = new PrivateEntries()
  #captured = new Set<unknown>()
  #toldCodecs = new Set<ClassCodec>()
  #lineages: Lineages | undefined
  #active: Unit
  /** Anchors that the first pass has not looked into yet. */
  #putOff: (AnchorBegin & { readonly place: Place })[] = []

  constructor(tools: WriterTools) {
    this.tools = tools
    this.main = new Unit(this)
    this.#active = this.main
    this.#known = tools.identities
    this.#anchors = new AnchorTable(this.#currentKnown, this.main)
  }

  get strictness(): Strictness {
    return this.#options.strictness
  }

  get known(): KnownThings {
    return this.#known
  }

  get lineages(): Lineages {
    this.#lineages ??= new Lineages(this.tools.natives, new ClassCheck(this), this.strictness)
    return this.#lineages
  }

  /** Where the writing is. */
  get place(): Place {
    return this.#active.place
  }

  /** Every value that a function of the main unit captured. Good until the next message. */
  get captured(): ReadonlySet<unknown> {
    return this.#captured
  }

  /** The functions whose parts the analyst gave. Good until the next message. */
  get analyzed(): ReadonlySet<AnyFunction> {
    return this.#analyzed
  }

  /** The objects of the main unit that nothing but the message makes known to the other side. */
  ownObjects(): Set<object> {
    const own = new Set<object>()
    for (const object of this.main.numbers.all) {
      if (!this.#isOwn(object)) continue
      own.add(object)
      // Small buffers lie side by side in slabs, which are shared without meaning anything.
      const memory = ArrayBuffer.isView(object) ? object.buffer : undefined
      if (memory !== undefined && memory.byteLength !== Buffer.poolSize) own.add(memory)
    }
    return own
  }

  /** Begins a message. */
  begin(options: MessageOptions, seeds: Seeds | undefined): void {
    this.#options = options
    this.#known = this.tools.known()
    if (this.#parts.size > 0) this.#parts = new Map()
    if (this.#analyzed.size > 0) this.#analyzed = new Set()
    if (this.#leftOut.size > 0) this.#leftOut = new Map()
    if (this.#classes.size > 0) this.#classes = new Set()
    if (this.#special.size > 0) this.#special = new Set()
    if (!this.views.isEmpty) this.views.clear()
    this.beginRound(seeds)
  }

  /** Begins to write the message again. */
  beginRound(seeds: Seeds | undefined): void {
    if (!this.views.isEmpty) this.views.beginRound()
    this.main.reset()
    this.hasAnchors = false
    this.#isSurprised = false
    this.#active = this.main
    if (!this.#anchors.isFresh || seeds !== undefined) {
      this.#anchors = new AnchorTable(this.#currentKnown, this.main, seeds)
    }
    if (!this.stores.isEmpty) this.stores = new PrivateEntries()
    if (this.#captured.size > 0) this.#captured = new Set()
    if (this.#toldCodecs.size > 0) this.#toldCodecs = new Set()
    this.#lineages = undefined
  }

  /** Writes the message, every unit of it. */
  write(value: unknown): void {
    if (this.seeds.size > 0) this.#writeSeeds()
    this.main.bytes.raw(PREFIX)
    this.main.value(value, '')
    this.#drain()
  }

  /** Writes what is known to be an anchor, before anything else can take it for its own. */
  #writeSeeds(): void {
    for (const [object, kind] of this.#anchors.seeds) {
      if (kind === 'cell') continue
      const isClass = typeof object === 'function' && this.#isClassFunction(object as AnyFunction)
      this.makeAnchor(object, { isClass, place: AnchorTable.nowhere, unit: undefined })
    }
    this.#drainAnchors()
  }

  /** Writes all that is waiting, in every unit. */
  #drain(): void {
    this.main.drain()
    let isBusy = !this.isPlain
    while (isBusy) {
      this.#active = this.main
      isBusy = this.main.drain()
      if (this.#drainAnchors()) isBusy = true
      if (!isBusy && !this.stores.isEmpty) isBusy = this.#writeEntries()
    }
  }

  /** Whether something in this round was written into the wrong unit. */
  get hasWrongUnits(): boolean {
    return this.#anchors.isWrong
  }

  /**
   * Finds out which objects must be anchors: writes the message as one unit, which is good for
   * nothing else. What was found to be shared by two anchors is one in later messages, too.
   */
  findAnchors(value: unknown): Seeds {
    for (;;) {
      const classCount = this.#classes.size
      const reach = new Reach()
      this.beginRound(undefined)
      this.main.reach = reach
      try {
        this.#writeAsOne(value)
      } finally {
        this.main.reach = undefined
      }
      // What turned out to be a class was not looked into as one.
      if (this.#classes.size > classCount) continue
      return reach.anchors((object) => this.tools.shared.add(object))
    }
  }

  #writeAsOne(value: unknown): void {
    const { main } = this
    this.#putOff = []
    main.value(value, '')
    for (let isBusy = true; isBusy;) {
      isBusy = main.drain()
      for (let next = this.#putOff.pop(); next !== undefined; next = this.#putOff.pop()) {
        isBusy = true
        main.rootAt(next.place, next.object, next.isClass, next.cell)
      }
      if (!isBusy) isBusy = this.stores.write(main, () => true)
    }
  }

  /** The first pass has met an anchor: its content comes later. */
  putOff(begin: AnchorBegin & { readonly place: Place }): void {
    this.#putOff.push(begin)
  }

  /** What was an anchor from the beginning of this round. */
  get seeds(): Seeds {
    return this.#anchors.seeds
  }

  /** Asks the analyst whether what it said was certain. */
  settle(): 'certain' | 'again' | Refusal {
    if (this.#analyzed.size === 0) return 'certain'
    const answer = this.tools.analyst.settle(this.#analyzed)
    if (answer === 'again') {
      this.#parts.clear()
      this.#analyzed.clear()
    }
    return answer
  }

  /** A function that cannot travel stays out of the next round. */
  leaveOut(fn: AnyFunction, { reason }: Refusal): void {
    const name = String(ownValue(fn, 'name'))
    this.#leftOut.set(fn, new Refusal(`function ${name}`.trim(), reason, 'leave it out'))
  }

  /**
   * Looks for a captured constant, on the way to the place of the writing, that can be made again
   * where it arrives. Returns whether there was one: then the message must be written again.
   */
  remake(): boolean {
    this.notRemade = ''
    for (const { fn, name, member } of capturesOn(this.place)) {
      const answer = this.tools.analyst.remake(fn, name, member)
      if (typeof answer === 'string') this.notRemade ||= `; ${answer}`
      if (answer !== true) continue
      this.#parts.clear()
      this.#analyzed.clear()
      this.views.clear()
      return true
    }
    return false
  }

  /** Whether the message needs nothing but its main unit. */
  get isPlain(): boolean {
    if (this.main.hasCode || !this.#anchors.isFresh || !this.stores.isEmpty) return false
    return (this.#options.attachments?.size ?? 0) === 0
  }

  /** The message in parts, of this value. */
  finish(value: unknown): MessageUnits {
    const main = this.main.finish()
    const anchors = this.#anchors.finish(main)
    const check = new SteadyCheck(this)
    const isAlone = anchors.length === 0 && this.stores.isEmpty && typeof value === 'function'
    const isSteady = isAlone && check.isSteady(value as AnyFunction)
    const values = this.#options.attachments?.values ?? []
    const attachments = values.map(
      (attached) => isSteady || check.areReading(this.#parts.keys(), attached),
    )
    this.sharing = { isSteady, attachments }
    return { main, shipment: { isSteady, attachments, anchors } }
  }

  /**
   * How to find out whether the message would be the same again; undefined if only writing it can
   * tell. `version`: of all registrations.
   */
  unchangedCheck(version: number): UnchangedCheck | undefined {
    const hasObjects = !this.#anchors.isFresh || !this.stores.isEmpty || !this.views.isEmpty
    if (hasObjects || this.#toldCodecs.size > 0) return undefined
    const { shipped, analyst } = this.tools
    const isConstant = (fn: AnyFunction): boolean =>
      shipped.partsOf(fn) !== undefined || analyst.isConstant(fn)
    return UnchangedCheck.of(this.#parts, version, isConstant)
  }

  /** The variable that holds a captured value, for people; undefined if there is none. */
  variableOf(value: unknown): string | undefined {
    for (const parts of this.#parts.values()) {
      if (parts instanceof Refusal || parts.kind !== 'source') continue
      const capture = parts.captures.find(
        ({ content }) => 'value' in content && content.value === value,
      )
      if (capture !== undefined) return readText(capture.step)
    }
    return undefined
  }

  isExtended(fn: AnyFunction, parts: SourceParts): boolean {
    return isExtended({ fn, parts, isClass: false, late: [] })
  }

  isElsewhere(object: object): boolean {
    const { natives, analyst } = this.tools
    return natives.objectNameOf(object) !== undefined || analyst.referenceOf(object) !== undefined
  }

  partsOf(fn: AnyFunction): FunctionParts | Refusal {
    const known = this.#leftOut.get(fn) ?? this.#parts.get(fn)
    if (known !== undefined) return known
    const parts = this.tools.shipped.partsOf(fn) ?? this.#analyze(fn)
    this.#parts.set(fn, parts)
    return parts
  }

  /** Whether a function is to be one thing everywhere. */
  isClass(fn: AnyFunction, parts: SourceParts): boolean {
    return parts.classParts !== undefined || this.#classes.has(fn) || hasOwnPrototype(fn)
  }

  /** From now on it is. */
  makeClass(fn: AnyFunction): void {
    const parts = this.partsOf(fn)
    if (parts instanceof Refusal || parts.kind !== 'source' || this.#classes.has(fn)) return
    this.#classes.add(fn)
    const anchor = this.#anchors.of(fn)
    if (anchor === undefined ? this.#anchors.isOwned(fn) : !anchor.isClass) {
      this.#anchors.isWrong = true
    }
  }

  anchorOf(object: object): Anchor | undefined {
    return this.#anchors.of(object)
  }

  makeAnchor(object: object, origin: AnchorOrigin): Anchor {
    this.hasAnchors = true
    return this.#anchors.make(object, origin, this)
  }

  /** Whether an object that looks ordinary turned out to be more. */
  isSpecial(object: object): boolean {
    return this.#special.size > 0 && this.#special.has(object)
  }

  /**
   * It did: the message must be written again. To see that at once would cost all others too much.
   */
  noteSpecial(object: object): void {
    this.#special.add(object)
    this.#isSurprised = true
  }

  /** Whether something in this round was not what it looked like. */
  get isSurprised(): boolean {
    return this.#isSurprised || this.views.isSurprised
  }

  /** Whether an object that is met for the first time must be an anchor. */
  isSeed(object: object): boolean {
    return this.#anchors.seeds.has(object)
  }

  /** Whether an object is known to belong to more than one anchor. */
  isShared(object: object): boolean {
    return this.tools.shared.has(object)
  }

  /**
   * Called for each object that a unit numbers as its own, if there are anchors. Returns false if
   * another unit has it: then the message has to be written again.
   */
  claim(object: object, unit: Unit): boolean {
    return this.#anchors.claim(object, unit)
  }

  /** The number of an attachment that stands for the value, or undefined. */
  attachmentOf(value: unknown): number | undefined {
    return this.#options.attachments?.of(value)
  }

  noteCaptured(value: unknown): void {
    if (typeof value === 'object' ? value !== null : typeof value === 'string') {
      this.#captured.add(value)
    }
  }

  /** The bytes of the codec of a registered class that this message does not have yet. */
  newCodecOf(constructor: AnyFunction): Uint8Array | undefined {
    const codec = this.tools.codecs.ofClass(constructor)
    if (codec === undefined || this.#toldCodecs.has(codec)) return undefined
    this.#toldCodecs.add(codec)
    return this.tools.encodeCodec(codec)
  }

  #isOwn(object: object): boolean {
    if (this.#anchors.of(object) !== undefined || types.isWeakMap(object)) return false
    if (this.attachmentOf(object) !== undefined) return false
    if (typeof object !== 'function') return this.tools.natives.objectNameOf(object) === undefined
    const parts = this.#parts.get(object as AnyFunction)
    return parts instanceof Refusal || parts?.kind === 'source' || parts?.kind === 'bound'
  }

  #analyze(fn: AnyFunction): FunctionParts | Refusal {
    const parts = this.tools.analyst.partsOf(fn)
    if (!(parts instanceof Refusal) && parts.kind === 'source') this.#analyzed.add(fn)
    return parts
  }

  #isClassFunction(fn: AnyFunction): boolean {
    const parts = this.partsOf(fn)
    return !(parts instanceof Refusal) && parts.kind === 'source' && this.isClass(fn, parts)
  }

  #drainAnchors(): boolean {
    let isBusy = false
    for (let anchor = this.#anchors.nextPending(); anchor !== undefined;) {
      isBusy = true
      this.#active = anchor.unit
      anchor.unit.root(anchor.object, anchor.isClass, anchor.cell)
      anchor.unit.drain()
      anchor = this.#anchors.nextPending()
    }
    return isBusy
  }

  #writeEntries(): boolean {
    let isBusy = this.stores.write(this.main, (object) => this.#anchors.of(object) === undefined)
    for (const { unit, object } of this.#anchors.units) {
      this.#active = unit
      const isOwn = (other: object): boolean =>
        other === object || this.#anchors.of(other) === undefined
      if (this.stores.write(unit, isOwn)) isBusy = true
    }
    return isBusy
  }
}
