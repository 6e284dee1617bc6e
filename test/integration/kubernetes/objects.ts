// The objects of the stand-in, as far as it uses them.

/** What all objects have. */
export interface Metadata {
  name: string
  readonly namespace?: string
  readonly uid?: string
  readonly creationTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  deletionTimestamp?: string
  resourceVersion?: string
}

/** A condition of a Job or a pod. */
export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
}

interface Container {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
}

/** What a pod is to be. */
export interface PodSpec {
  nodeName?: string
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly terminationGracePeriodSeconds?: number
  readonly containers: readonly Container[]
}

/** A Job. */
export interface Job {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Metadata
  readonly spec: {
    readonly template: {
      readonly metadata?: { readonly labels?: Readonly<Record<string, string>> }
      readonly spec: PodSpec
    }
  }
  status: { active?: number; ready?: number; conditions?: readonly Condition[] }
}

/** A pod. */
export interface Pod {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Metadata & { readonly ownerReferences: readonly { readonly name: string }[] }
  readonly spec: PodSpec
  status: {
    phase: string
    conditions?: readonly Condition[]
    containerStatuses?: readonly object[]
  }
}

/** What has happened to an object. */
export interface Event {
  readonly metadata: Metadata
  readonly involvedObject: { readonly kind: string; readonly name: string }
  readonly type: string
  readonly reason: string
  readonly message: string
}
