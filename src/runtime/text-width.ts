// How many columns a text takes on a terminal: East Asian characters and emoji take two, marks
// none. Near enough for a label; terminals themselves differ about the rest.

const SCRIPTS = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Bopomofo', 'Yi']
const WIDE = new RegExp(
  String.raw`^(?:${SCRIPTS.map((name) => String.raw`\p{Script=${name}}`).join('|')}|` +
    String.raw`\p{Emoji_Presentation}|\p{Emoji}\ufe0f|[\u3000-\u303e\uff01-\uff60\uffe0-\uffe6])`,
  'u',
)
/** Half the width of their script: katakana and Hangul of old character sets. */
const NARROW = /^[\uff61-\uffdc\uffe8-\uffee]/u
const NOTHING = /^(?:\p{Mn}|\p{Me}|\p{Cf}|\p{Cc})+$/u
/** Text of one column each, which most is. */
const PLAIN = /^[\u0020-\u007e]*$/

/** The columns that `text` takes. It must have no control characters. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const character of charactersOf(text)) width += characterWidth(character)
  return width
}

/** `text`, or its beginning and `mark`, so that it takes at most `columns`. */
export function fitText(text: string, columns: number, mark: string): string {
  if (textWidth(text) <= columns) return text
  let fitting = ''
  let width = textWidth(mark)
  if (width > columns) return ''
  for (const character of charactersOf(text)) {
    width += characterWidth(character)
    if (width > columns) break
    fitting += character
  }
  return fitting + mark
}

/** What people take for characters: an emoji may be a dozen code points. */
function charactersOf(text: string): string[] {
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)
}

function characterWidth(character: string): number {
  if (NOTHING.test(character)) return 0
  return WIDE.test(character) && !NARROW.test(character) ? 2 : 1
}
