// An allocator in a program: starts workers as the work needs them.

import { checkOptions, optionsIn, type OptionTable } from '../base/option.js'
import { argumentError, asCalled, captureSite } from '../runtime/call-site.js'
import { requireNode } from '../runtime/child-environment.js'
import {
  type CodeLog,
  LOGGING_OPTIONS,
  type LoggingOptions,
  openCodeLog,
} from '../runtime/log/log.js'
import type { AllocatorEnd, AllocatorEngine } from './engine.js'
import { ALLOCATOR_OPTIONS, type AllocatorOptions, checkAllocatorOptions } from './options.js'

/** The options of an allocator and of its log. */
export interface AllocatorStartOptions extends AllocatorOptions, LoggingOptions {}

const START_OPTIONS: OptionTable<AllocatorStartOptions> = {
  ...ALLOCATOR_OPTIONS,
  ...LOGGING_OPTIONS,
}

/** Starts workers for a scheduler as its work needs them. Keeps the process alive. */
export class Allocator implements AsyncDisposable {
  /** Resolves when it has stopped: on request, or because the scheduler knows no allocators. */
  readonly ended: Promise<AllocatorEnd>
  readonly #engine: AllocatorEngine

  private constructor(engine: AllocatorEngine, log: CodeLog | undefined) {
    // The compiler refuses `new`; JavaScript does not.
    if (log === undefined) {
      throw argumentError('new Allocator() starts nothing; use await Allocator.start(options)')
    }
    this.#engine = engine
    this.ended = engine.ended.then(async (end) => {
      await log.close()
      return end
    })
  }

  /**
   * Starts an allocator, which connects in the background. Rejects with `ConfigError` for a bad
   * option, or if the provider lacks what it needs: a package, a kubeconfig.
   */
  static start(options: AllocatorStartOptions): Promise<Allocator> {
    return asCalled(captureSite(1), () => Allocator.#start(options))
  }

  static async #start(options: AllocatorStartOptions): Promise<Allocator> {
    requireNode()
    checkOptions('allocator', START_OPTIONS, options)
    const own: AllocatorOptions = optionsIn(ALLOCATOR_OPTIONS, options)
    checkAllocatorOptions(own)
    // Most programs that import the library need no allocator.
    const { AllocatorEngine: LoadedEngine } = await import('./engine.js')
    const log = await openCodeLog(options)
    const checked = checkAllocatorOptions({ ...own, logger: log.logger })
    try {
      return new Allocator(await LoadedEngine.start(checked, () => {}), log)
    } catch (error) {
      await log.close()
      throw error
    }
  }

  /** Stops it. The workers that it has started go on until they are idle. Safe to call twice. */
  async stop(): Promise<void> {
    await this.#engine.stop()
    await this.ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }
}
