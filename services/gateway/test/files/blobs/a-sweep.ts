import { jetStreamBlobStore } from '@runledger/blob-store/jetstream-blob-store';
import type { BlobStore } from '@runledger/blob-store/blob-store';
import type { BlobRef } from '@runledger/contracts/blobs';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { queued } from '@runledger/testing/run-events';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { sweepStore } from '../../../src/keeping/sweeps.ts';
import { unreferencedByRuns } from '../../../src/files/blobs.ts';
import { clock } from '../../../src/kit.ts';
import { freshViews } from '../../../src/views/fresh-views.ts';
import type { RunViews } from '../../../src/views/run-views.ts';

export const queuedWith = (run: RunKey, inputs_blob: BlobRef): RunEventOf<'RunQueued'> =>
  queued(run, { inputs: null, inputs_blob });

export interface Sweep {
  readonly store: BlobStore;
  /** One round. */
  readonly round: () => Promise<void>;
  readonly erased: () => number;
}

/** Inputs and lists of outputs, swept by times that a test can wait for: a copy is young for half the time of the sweep. */
export const aSweep = (log: EventLog, views: RunViews, erasedAfterMs: number): Sweep => {
  const store = jetStreamBlobStore(log, { stream: 'BLOBS', youngForMs: erasedAfterMs / 2 });
  let erased = 0;
  const fresh = freshViews({ log, views, timeoutMs: 5_000, clock });
  const round = sweepStore(store, unreferencedByRuns(views, fresh), erasedAfterMs, () => (erased += 1));
  return { store, round: () => round(new AbortController().signal), erased: () => erased };
};
