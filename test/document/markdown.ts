// Reads the parts of Markdown pages that tests need: code blocks, headings with their anchors,
// links. No package for this: it is little code, and pages that need more are too complicated.

/** A code block between fences. */
export interface CodeBlock {
  /** The first word after the fence: `ts`, `sh`, `console`. */
  readonly language: string
  /** The further words. */
  readonly words: readonly string[]
  readonly text: string
  /** The heading that it stands under. */
  readonly section: string
  /** Where it begins, from 1. */
  readonly line: number
}

/** A link, or an image. */
export interface Link {
  readonly target: string
  readonly line: number
}

/** A page, read. */
export interface Markdown {
  readonly blocks: readonly CodeBlock[]
  readonly links: readonly Link[]
  /** All valid anchors after `#` in a link to the page. */
  readonly anchors: ReadonlySet<string>
  /** The text in backticks, outside of blocks. */
  readonly codes: readonly Link[]
}

/** Reads a page. Throws if a fence is never closed. */
export function readMarkdown(text: string): Markdown {
  const blocks: CodeBlock[] = []
  const links: Link[] = []
  const codes: Link[] = []
  const anchors = new Anchors()
  let section = ''
  let open: { fence: string; info: string; line: number; lines: string[] } | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^\s*(`{3,})(.*)$/.exec(line)
    if (open !== undefined) {
      if (fence?.[1] === open.fence && fence[2]?.trim() === '') {
        blocks.push(codeBlock(open, section))
        open = undefined
      } else open.lines.push(line)
      continue
    }
    if (fence !== null) {
      open = { fence: fence[1] ?? '', info: fence[2] ?? '', line: index + 1, lines: [] }
      continue
    }
    const heading = /^#{1,6} (.*)$/.exec(line)?.[1]
    if (heading !== undefined) section = anchors.addHeading(heading)
    anchors.addExplicit(line)
    for (const [, code = ''] of line.matchAll(/`([^`]+)`/g))
      codes.push({ target: code, line: index + 1 })
    for (const target of linksOf(line)) links.push({ target, line: index + 1 })
  }
  if (open !== undefined) throw new Error(`line ${open.line}: the block is never closed`)
  return { blocks, links, anchors: anchors.names, codes }
}

function codeBlock(
  open: { readonly info: string; readonly line: number; readonly lines: readonly string[] },
  section: string,
): CodeBlock {
  const [language = '', ...words] = open.info.trim().split(/\s+/)
  const text = open.lines.map((line) => `${line}\n`).join('')
  return { language, words, text, section, line: open.line }
}

/** Targets of `[text](target)`, `![text](target)`, `<https://…>` and `[name]: target`. */
function linksOf(line: string): string[] {
  const prose = line.replaceAll(/`[^`]*`/g, '``')
  const inline = [...prose.matchAll(/\]\(([^()\s]+(?:\([^()\s]*\))?)\)/g)]
  const bare = [...prose.matchAll(/<((?:https?|mailto):[^>\s]*)>/g)]
  const reference = [...prose.matchAll(/^\[[^\]]+\]: (\S+)/g)]
  return [...inline, ...bare, ...reference].map((match) => match[1] ?? '')
}

/** The anchors that repository hosts create from headings, and explicit ones. */
class Anchors {
  readonly names = new Set<string>()

  /** Returns the heading's text. */
  addHeading(markdown: string): string {
    const text = markdown
      .replaceAll(/[`*]|\\(?=\W)/g, '')
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    const plain = text
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-')
    let name = plain
    for (let count = 1; this.names.has(name); count += 1) name = `${plain}-${count}`
    this.names.add(name)
    return text
  }

  addExplicit(line: string): void {
    for (const [, name = ''] of line.matchAll(/<a (?:id|name)="([^"]+)"/g)) this.names.add(name)
  }
}
