// What the files of this package export, where they are not files any more: in the bundle for
// CommonJS, for which scripts/bundle.mjs puts another text in the place of this one.

/** Namespaces by their place under `dist`; undefined where files are files. */
export const ownExports: () => Readonly<Record<string, object>> | undefined = () => undefined
