// For tests: two serializers that are as independent as those of two processes.

import { ClassCodecs } from './class/codecs.js'
import { Identities, type KnownThings, TaskIdentities } from './class/registry.js'
import { DefaultSerializer } from './default-serializer.js'
import { ExplicitFunctions } from './function/explicit.js'
import { SourceAnalyst } from './function/analyst.js'
import type { FunctionAnalyst } from './function/parts.js'
import { createModuleLoader } from './module/loader.js'
import { ModuleNames } from './module/names.js'
import { ModulePolicy } from './module/policy.js'
import { NativeNames } from './module/native.js'

/** The serializer of a process. */
export interface Side {
  readonly serializer: DefaultSerializer
  readonly codecs: ClassCodecs
  readonly identities: Identities
  /** The identities that a reader knows: those of the process, or of the running task. */
  known: KnownThings
}

/** A new one, which has seen nothing. */
export function makeSide(given?: FunctionAnalyst, policy: ModulePolicy = new ModulePolicy()): Side {
  const natives = new NativeNames()
  const loader = createModuleLoader({
    workerName: () => 'the test',
    cwd: () => process.cwd(),
  })
  const modules = new ModuleNames(policy, natives, loader)
  const analyst =
    given ?? new SourceAnalyst({ natives, modules, explicit: new ExplicitFunctions() })
  const codecs = new ClassCodecs()
  const identities = new Identities()
  const known = (): KnownThings => side.known
  const side: Side = {
    serializer: new DefaultSerializer({ analyst, loader, natives, codecs, identities, known }),
    codecs,
    identities,
    known: identities,
  }
  return side
}

/** A client and a worker, for one test or several. */
export class TwoSides {
  readonly here: Side
  readonly there: Side = makeSide()

  /** `policy`: the registrations here. */
  constructor(policy?: ModulePolicy) {
    this.here = makeSide(undefined, policy)
    this.here.identities.keepsForeign = false
    this.beginTask()
  }

  /** Everything that arrives there from now on belongs to another task. */
  beginTask(): void {
    this.there.known = new TaskIdentities(this.there.identities)
  }

  /** From here to there, through memory that the reader does not own. */
  send<T>(value: T): T {
    return through(value, this.here, this.there)
  }

  /** From there to here. */
  back<T>(value: T): T {
    return through(value, this.there, this.here)
  }

  /** Both. */
  andBack<T>(value: T): T {
    return this.back(this.send(value))
  }
}

function through<T>(value: T, from: Side, to: Side): T {
  const bytes = Buffer.from(from.serializer.serialize(value))
  const result = to.serializer.deserialize(bytes)
  bytes.fill(0xff)
  return result as T
}
