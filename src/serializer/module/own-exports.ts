// What the files of this package export, where they are not files any more: in the bundles, for
// which scripts/bundle.mjs puts another text in the place of this one.

/** What makes their namespaces, by their place under `src`; undefined where files are files. */
export const ownExports: Readonly<Record<string, () => object>> | undefined = undefined
