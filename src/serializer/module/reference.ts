// Things that travel by reference: what can be imported where they arrive. Types only.

/** A module by what finds it. */
export type ModuleReference =
  /** Part of Node: `node:fs`. */
  | { readonly kind: 'builtin'; readonly id: string }
  /** As the user's file names it. `parent` is the URL of that file. */
  | { readonly kind: 'specifier'; readonly specifier: string; readonly parent: string }
  /** A file inside a package: `file` is its path from the folder that has `package.json`. */
  | {
      readonly kind: 'packageFile'
      readonly packageName: string
      readonly file: string
      readonly parent: string
    }
  /** A file of this package, by its path from the folder of the compiled files. */
  | { readonly kind: 'own'; readonly file: string }

/** A value by the module that has it and the way from there. */
export interface ExportReference {
  readonly module: ModuleReference
  /** Whether `path` begins at the namespace or at what `require` gives. */
  readonly form: 'import' | 'require'
  /** `[]` is the namespace or the exports as a whole. */
  readonly path: readonly string[]
}

/** Loads what references name; the worker's half. All are synchronous. */
export interface ModuleLoader {
  /**
   * The value. Throws `DeserializeError` that names the module and this worker; throws
   * `PendingImport` where a module can only be loaded asynchronously.
   */
  load(reference: ExportReference): unknown
  /** What `import(…)` in code from the file at `url` does. Always the same function for a URL. */
  importOf(url: string): RuntimeFunction
  /** What `require` in the CommonJS file at `url` is. Always the same function for a URL. */
  requireOf(url: string): RuntimeFunction
  /** What `import.meta` in the file at `url` is: url, dirname, filename, resolve. */
  metaOf(url: string): object
  /** What a function stands for, if `importOf` or `requireOf` made it. */
  roleOf(fn: unknown): RuntimeRole | undefined
}

/** A function that takes the place of `import` or `require`. */
export type RuntimeFunction = (specifier: string, options?: unknown) => unknown

/** For which word in the code of which file a function stands. */
export interface RuntimeRole {
  readonly kind: 'import' | 'require'
  readonly url: string
}

/** Thrown where a value cannot be read before something was imported. */
export class PendingImport extends Error {
  /** Fulfilled when reading can be tried again; never rejected. */
  readonly done: Promise<void>

  constructor(specifier: string, done: Promise<void>) {
    super(`${specifier} can only be imported asynchronously`)
    this.done = done
  }
}
