// The reference of what the package exports, from its doc comments: one page for each entry point.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Application } from 'typedoc'
import { ROOT } from '../paths.mjs'

/** The entry points: how typedoc names their pages, and what they are here. */
const PAGES = [
  { file: 'index.md', name: 'scaler-ts.md', title: 'scaler-ts' },
  { file: 'protocol.md', name: 'protocol.md', title: 'scaler-ts/protocol' },
]

const OPTIONS = {
  entryPoints: ['src/index.ts', 'src/protocol.ts'].map((path) => join(ROOT, path)),
  tsconfig: join(ROOT, 'src/tsconfig.json'),
  plugin: ['typedoc-plugin-markdown'],
  readme: 'none',
  logLevel: 'Error',
  // The compiler checks the code; this only reads it.
  skipErrorChecking: true,
  validation: false,
  disableSources: true,
  disableGit: true,
  excludePrivate: true,
  excludeInternal: true,
  excludeExternals: true,
  githubPages: false,
  hideGenerator: true,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  hidePageTitle: true,
  outputFileStrategy: 'modules',
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  propertyMembersFormat: 'table',
}

/** The pages of docs/api/: `[name, text]`. */
export async function apiPages() {
  const folder = mkdtempSync(join(tmpdir(), 'scaler-api-'))
  try {
    const application = await Application.bootstrapWithPlugins(OPTIONS)
    const project = await application.convert()
    if (project === undefined) throw new Error('typedoc cannot read the source')
    await application.outputs.writeOutput({ name: 'markdown', path: folder }, project)
    return PAGES.map(({ file, name, title }) => [
      name,
      pageText(title, readFileSync(join(folder, file), 'utf8')),
    ])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function pageText(title, text) {
  let linked = text.replaceAll(/(?<![[`/])docs\/([\w-]+\.md(?:#[\w-]+)?)/g, '[docs/$1](../$1)')
  for (const { file, name } of PAGES) linked = linked.replaceAll(`](${file}#`, `](${name}#`)
  const origin = 'Written by `npm run docs` from the comments in the source.'
  return `# ${title}\n\nWhat \`${title}\` exports. ${origin}\n\n${linked}`
}
