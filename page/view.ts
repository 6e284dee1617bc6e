// What each view of the page is.

import type { PageState } from './api.js'

/** One view. */
export interface View {
  readonly title: string
  readonly element: HTMLElement
  /** Its query to `/api/events`. When it changes, call `ViewHost.reopen`. */
  stream(): string
  /** Something has changed. */
  update(state: PageState): void
  close(): void
}

/** What views can ask of the page. */
export interface ViewHost {
  /** The stream that is wanted has changed. */
  reopen(): void
}
