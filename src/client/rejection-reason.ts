// What callbacks of futures get, so that they can be written as those of any promise.

type OnRejected = NonNullable<Parameters<Promise<unknown>['catch']>[0]>

/** What a callback for a rejection gets: of whatever type, as that of a `Promise`. */
export type RejectionReason = Parameters<OnRejected>[0]
