// The files of the page, as the server sends them. They are made from page/ when the package is
// built: scripts/bundle.mjs replaces this file.

/** A page: its HTML, in which `/page.css` and `/page.js` stand for the other two. */
export interface PageFiles {
  readonly html: string
  readonly css: string
  readonly js: string
}

/** What this build contains; empty outside the bundles. */
export const PAGE_FILES: PageFiles = { html: '', css: '', js: '' }
