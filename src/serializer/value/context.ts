// What the units of one message share while it is written: anchors, the analyst's answers for
// functions, and the additional parts of the message. A round is one attempt at writing it.

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

/** What a worker creates once for all tasks: the function, or some of its attachments. */
export type Sharing = Pick<Shipment, 'isSteady' | 'attachments'>

/** The beginning of an anchor's unit. */
interface AnchorBegin {
  readonly object: object
  readonly isClass: boolean
  /** For a captured variable: its value. */
  readonly cell: { readonly value: unknown } | undefined
}

/** The context of one message at a time. */
export class MessageContext {
  readonly main: Unit
  /** A plain property rather than a getter, because it is read for each object. */
  hasAnchors = false
  readonly views: ModuleViews = new ModuleViews()
  /** What the last message with code allows to create once for all tasks. */
  sharing: Sharing = { isSteady: false, attachments: [] }
  /** Why `remake` has re-created nothing: the end of a reason. */
  notRemade = ''
  readonly tools: WriterTools
  #options: MessageOptions = { strictness: 'strict' }
  /** The functions of this message, for all of its rounds. */
  #parts = new Map<AnyFunction, FunctionParts | Refusal>()
  #analyzed = new Set<AnyFunction>()
  #leftOut = new Map<AnyFunction, Refusal>()
  #classes = new Set<AnyFunction>()
  #special = new Set<object>()
  #isSurprised = false
  /** The anchors of this round. */
  #anchors: AnchorTable
  #known: KnownThings
  readonly #currentKnown = (): KnownThings => this.#known
  stores: PrivateEntries = new PrivateEntries()
  #captured = new Set<unknown>()
  #toldCodecs = new Set<ClassCodec>()
  #lineages: Lineages | undefined
  #active: Unit
  /** Anchors whose contents the first pass has not visited yet. */
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

  /** The current position of the writing. */
  get place(): Place {
    return this.#active.place
  }

  /** Every value that a function of the main unit captured. Valid until the next message. */
  get captured(): ReadonlySet<unknown> {
    return this.#captured
  }

  /** The functions whose parts came from the analyst. Valid until the next message. */
  get analyzed(): ReadonlySet<AnyFunction> {
    return this.#analyzed
  }

  /** The objects of the main unit that the other side receives only through this message. */
  ownObjects(): Set<object> {
    const own = new Set<object>()
    for (const object of this.main.numbers.all) {
      if (!this.#isOwn(object)) continue
      own.add(object)
      // Small buffers are placed in slabs, which they share by accident.
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

  /** Starts writing the message again. */
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

  /** Writes the message, with all of its units. */
  write(value: unknown): void {
    if (this.seeds.size > 0) this.#writeSeeds()
    this.main.bytes.raw(PREFIX)
    this.main.value(value, '')
    this.#drain()
  }

  /** Writes the known anchors before anything else can include their objects. */
  #writeSeeds(): void {
    for (const [object, kind] of this.#anchors.seeds) {
      if (kind === 'cell') continue
      const isClass = typeof object === 'function' && this.#isClassFunction(object as AnyFunction)
      this.makeAnchor(object, { isClass, place: AnchorTable.nowhere, unit: undefined })
    }
    this.#drainAnchors()
  }

  /** Writes everything that is queued, in every unit. */
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
   * Determines which objects must be anchors: writes the message as one unit, which is then
   * discarded. An object that is shared by two anchors stays an anchor in later messages.
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
      // Objects that turned out to be classes were not visited as such.
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

  /** The first pass has found an anchor: its content comes later. */
  putOff(begin: AnchorBegin & { readonly place: Place }): void {
    this.#putOff.push(begin)
  }

  /** The anchors known from the start of this round. */
  get seeds(): Seeds {
    return this.#anchors.seeds
  }

  /** Asks the analyst whether its answers were certain. */
  settle(): 'certain' | 'again' | Refusal {
    if (this.#analyzed.size === 0) return 'certain'
    const answer = this.tools.analyst.settle(this.#analyzed)
    if (answer === 'again') {
      this.#parts.clear()
      this.#analyzed.clear()
    }
    return answer
  }

  /** A function that cannot be sent is left out of the next round. */
  leaveOut(fn: AnyFunction, { reason }: Refusal): void {
    const name = String(ownValue(fn, 'name'))
    this.#leftOut.set(fn, new Refusal(`function ${name}`.trim(), reason, 'leave it out'))
  }

  /**
   * Looks for a captured constant, on the path to the current position, that can be re-created
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

  /** Whether the message consists of its main unit only. */
  get isPlain(): boolean {
    if (this.main.hasCode || !this.#anchors.isFresh || !this.stores.isEmpty) return false
    return (this.#options.attachments?.size ?? 0) === 0
  }

  /** The message in parts, for this value. */
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
   * show that. `version`: of all registrations.
   */
  unchangedCheck(version: number): UnchangedCheck | undefined {
    const hasObjects = !this.#anchors.isFresh || !this.stores.isEmpty || !this.views.isEmpty
    if (hasObjects || this.#toldCodecs.size > 0) return undefined
    const { shipped, analyst } = this.tools
    const isConstant = (fn: AnyFunction): boolean =>
      shipped.partsOf(fn) !== undefined || analyst.isConstant(fn)
    return UnchangedCheck.of(this.#parts, version, isConstant)
  }

  /** The variable that holds a captured value, for messages; undefined if there is none. */
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
    if (known !== undefined && !(known instanceof Refusal)) return known
    if (known !== undefined && this.#leftOut.has(fn)) return known
    const own = known ?? this.tools.shipped.partsOf(fn) ?? this.#analyze(fn)
    // Its class may have been found since it was refused.
    const isOwn = !(own instanceof Refusal)
    const parts = isOwn ? own : (this.tools.originals.partsOf(fn, this.#parts) ?? own)
    this.#parts.set(fn, parts)
    return parts
  }

  /** Whether a function is a class, with one identity everywhere. */
  isClass(fn: AnyFunction, parts: SourceParts): boolean {
    return parts.classParts !== undefined || this.#classes.has(fn) || hasOwnPrototype(fn)
  }

  /** From now on it is one. */
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

  /** Whether an object that looks ordinary turned out to be a `prototype` or similar. */
  isSpecial(object: object): boolean {
    return this.#special.size > 0 && this.#special.has(object)
  }

  /**
   * It did, so the message must be written again. Detecting it earlier would be too slow for all
   * other objects.
   */
  noteSpecial(object: object): void {
    this.#special.add(object)
    this.#isSurprised = true
  }

  /** Whether something in this round was not what it looked like. */
  get isSurprised(): boolean {
    return this.#isSurprised || this.views.isSurprised
  }

  /** Whether an object that is found for the first time must be an anchor. */
  isSeed(object: object): boolean {
    return this.#anchors.seeds.has(object)
  }

  /** Whether an object is known to belong to more than one anchor. */
  isShared(object: object): boolean {
    return this.tools.shared.has(object)
  }

  /**
   * Called for each object that a unit numbers as its own, if there are anchors. Returns false if
   * another unit has it: then the message must be written again.
   */
  claim(object: object, unit: Unit): boolean {
    return this.#anchors.claim(object, unit)
  }

  /** The number of the attachment for the value, or undefined. */
  attachmentOf(value: unknown): number | undefined {
    return this.#options.attachments?.of(value)
  }

  noteCaptured(value: unknown): void {
    if (typeof value === 'object' ? value !== null : typeof value === 'string') {
      this.#captured.add(value)
    }
  }

  /** The bytes of the codec of a registered class that are not in this message yet. */
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
