// Makes and changes elements. Text only ever becomes text nodes: nothing here parses HTML.

/** What an element can contain; undefined: nothing. */
export type Child = Node | string | undefined

/** Attributes; false and undefined leave one out, true is an empty one. */
export type Attributes = Readonly<Record<string, string | boolean | undefined>>

/** Marks that change the direction of what follows, and control characters but the line end. */
const UNSAFE = /(?![\n\t])\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** A new element. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : value)
  }
  for (const child of children) {
    if (child !== undefined) element.append(typeof child === 'string' ? plain(child) : child)
  }
  return element
}

/** A new element of a drawing. Strings become its text. */
export function draw(
  tag: string,
  attributes: Readonly<Record<string, string | number | undefined>> = {},
  ...children: readonly Child[]
): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, String(value))
  }
  for (const child of children) {
    if (child !== undefined) element.append(typeof child === 'string' ? plain(child) : child)
  }
  return element
}

/** Changes the text of an element, if it is another one. */
export function setText(element: HTMLElement, text: string): void {
  const shown = plain(text)
  if (element.textContent !== shown) element.textContent = shown
}

function plain(text: string): string {
  return text.replaceAll(UNSAFE, '?')
}

/** Puts children in place of others; those that have not changed keep their focus and selection. */
export function putChildren(parent: HTMLElement, children: readonly Child[]): void {
  // A copy: the list of an element shrinks when a node moves.
  const nodes = Array.from(make('div', {}, ...children).childNodes)
  let at = parent.firstChild
  for (const node of nodes) {
    const next: ChildNode | null = at?.nextSibling ?? null
    if (at === null) parent.append(node)
    else if (!at.isEqualNode(node)) at.replaceWith(node)
    at = next
  }
  while (at !== null) {
    const next: ChildNode | null = at.nextSibling
    at.remove()
    at = next
  }
}

/** A link to a view of this page: `viewLink('price', 'tasks', 'aa00')`. */
export function viewLink(text: string, ...path: readonly string[]): HTMLAnchorElement {
  return make('a', { href: viewPath(...path) }, text)
}

/** The address of a view of this page. */
export function viewPath(...path: readonly string[]): string {
  return `#/${path.map(encodeURIComponent).join('/')}`
}

/** A button that does something. */
export function button(text: string, onClick: () => void, label?: string): HTMLButtonElement {
  const element = make('button', { type: 'button', 'aria-label': label }, text)
  element.addEventListener('click', onClick)
  return element
}

/** A list of names and values. */
export function facts(rows: readonly (readonly [name: string, value: Child])[]): HTMLElement {
  const items = rows.map(([name, value]) => {
    return make('div', {}, make('dt', {}, name), make('dd', {}, value))
  })
  return make('dl', { class: 'facts' }, ...items)
}

/** The colours of the theme that is shown, by their names in the style sheet. */
export function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

/** Something that may be wider than the page, and can be scrolled by keyboard. */
export function scrollable(label: string, content: Node): HTMLElement {
  return make(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label },
    content,
  )
}
