// Numbers, sizes and times as the page writes them. What is not known is a dash.

/** What is not known. */
export const UNKNOWN = '–'

type Maybe = number | null | undefined

/** `4,000` */
export function count(value: Maybe): string {
  return value === null || value === undefined ? UNKNOWN : Math.round(value).toLocaleString('en-US')
}

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** `1.5 MB` */
export function bytes(value: Maybe): string {
  if (value === null || value === undefined) return UNKNOWN
  let [rest, at] = [value, 0]
  for (; rest >= 1_000 && at < SIZES.length - 1; at += 1) rest /= 1_000
  return `${rest >= 100 || at === 0 ? Math.round(rest) : rest.toFixed(1)} ${SIZES[at]}`
}

/** `12 ms`, `3.4 s`, `5 min`, `2 h` */
export function duration(ms: Maybe): string {
  if (ms === null || ms === undefined) return UNKNOWN
  if (ms < 1) return `${Number(ms.toPrecision(2))} ms`
  if (ms < 1_000) return `${Number(ms.toPrecision(3))} ms`
  const seconds = ms / 1_000
  if (seconds < 120) return `${Number(seconds.toPrecision(3))} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800
    ? `${Math.round(seconds / 3_600)} h`
    : `${Math.round(seconds / 86_400)} d`
}

/** `35 %` */
export function percent(value: Maybe): string {
  return value === null || value === undefined ? UNKNOWN : `${Math.round(value)} %`
}

/** The time of day by this machine's clock: `14:03:05` */
export function clock(time: string | number | null | undefined): string {
  return time === null || time === undefined
    ? UNKNOWN
    : new Date(time).toLocaleTimeString('en-GB', { hour12: false })
}

/** The id of a task in short. The nodes of a graph differ only at its end. */
export function shortId(id: string): string {
  return id.length <= 14 ? id : `${id.slice(0, 8)}…${id.slice(-4)}`
}

/** An identity without most of its random rest: `4711|left|67dd…` */
export function shortWorker(id: string): string {
  return id.replace(/\|([\da-f]{4})[\da-f]{28}$/, '|$1…')
}

/** The name in an identity: `left` of `4711|left|67dd…`; else the identity in short. */
export function nameIn(id: string): string {
  return /^\d+\|(.+)\|[\da-f]{32}$/.exec(id)?.[1] ?? shortWorker(id)
}

/** `left on vm`: a peer by its name and its host, as far as they are known. */
export function peerName(id: string, name: string, host: string): string {
  return `${name || nameIn(id)}${host === '' ? '' : ` on ${host}`}`
}

/** How many, and how much they take: `4 (374 B)` */
export function countAndBytes(number: Maybe, size: Maybe): string {
  return size === null || size === undefined ? count(number) : `${count(number)} (${bytes(size)})`
}

/** How long ago something was, in whole seconds that may be at most 255. */
export function secondsAgo(seconds: number): string {
  if (seconds < 1) return 'less than 1 s ago'
  return `${seconds >= 255 ? 'at least ' : ''}${duration(seconds * 1_000)} ago`
}

/** The name of a function, for people. */
export function functionName(name: string): string {
  return name === '' ? '(unnamed)' : name
}

/** `1 task`, `2 tasks` */
export function counted(value: number, thing: string): string {
  return `${count(value)} ${thing}${value === 1 ? '' : 's'}`
}

/** Round whole values for an axis from 0 to at least `max`: 2 to 6 of them. */
export function ticks(max: number): readonly number[] {
  if (!(max > 0)) return [0, 1]
  const rough = max / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const steps = [1, 2, 5, 10].map((factor) => factor * power)
  // What is counted is whole: half a task would be labelled as one.
  const step = Math.max(1, steps.find((each) => each >= rough) ?? rough)
  const values: number[] = []
  for (let at = 0; (at - 1) * step < max; at += 1) values.push(Number((at * step).toPrecision(6)))
  return values
}

const TIME_STEPS_MS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600].map((seconds) => seconds * 1_000),
  ...[2, 3, 6, 12, 24].map((hours) => hours * 3_600_000),
]

/** Round times between two others: at most `most`. */
export function timeTicks(from: number, to: number, most: number): readonly number[] {
  const step = TIME_STEPS_MS.find((each) => (to - from) / each <= most) ?? 86_400_000
  const times: number[] = []
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) times.push(at)
  return times
}

/** A time on an axis of this length: with seconds or fractions only where they differ. */
export function tickTime(time: number, spanMs: number): string {
  const date = new Date(time)
  const two = (value: number): string => String(value).padStart(2, '0')
  const minute = `${two(date.getHours())}:${two(date.getMinutes())}`
  if (spanMs > 1_200_000) return minute
  const second = `${minute}:${two(date.getSeconds())}`
  return spanMs > 5_000 ? second : `${second}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** The name and message of an error; what a worker of Python Scaler does not tell is a dash. */
export function errorText(name: string, message: string): string {
  return [name, message].filter((part) => part !== '').join(': ') || UNKNOWN
}
