import type { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { StreamHolder } from '../../quotas/stream-limits.ts';

/** What a subscriber sees of a run. Disposing it ends the subscription. */
export interface RunSubscription extends Disposable {
  /** In the order of the log; the last one is final when the run has ended. It only grows. */
  readonly facts: readonly RunFactEvent[];
  /** The last progress of the current attempt. */
  progress(): RunProgressEvent | undefined;
}

export interface SubscriptionListener {
  /** `facts` has grown. */
  readonly onFacts: () => void;
  /** `progress` has changed. */
  readonly onProgress: () => void;
  /** Nothing more comes. The subscriber may subscribe again. */
  readonly onOver: (why: string) => void;
}

/** Calls the listener from now on. The subscription has what is known already. */
export type Subscribe = (
  key: RunKey,
  holder: StreamHolder,
  listener: SubscriptionListener,
) => RunSubscription;

/** Why no client can subscribe now: also when its organisation, or its key, has as many as it may. */
export type SubscriptionRefusal = 'too_many' | 'over_quota' | 'over_key_limit' | 'stopping';
