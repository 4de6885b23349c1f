import type { RunEvent, RunEventOf } from '@runledger/contracts/run-event';
import type { RunKey } from '@runledger/contracts/subjects';
import {
  assigned,
  cancelled,
  cancelRequested,
  failed,
  givenUp,
  ONE,
  OTHER,
  queued,
  requeued,
  started,
  succeeded,
  timedOut,
  uploading,
} from '@runledger/testing/run-events';

export const OUTPUTS: RunEventOf<'RunSucceeded'>['data']['outputs'] = [
  {
    id: '01920000-0000-7000-8000-00000000000a',
    output_id: 'image',
    node_id: '9',
    node_meta: null,
    type: 'output',
    data: {
      text: ['done'],
      images: [
        {
          key: 'k'.repeat(43),
          filename: 'a b.png',
          subfolder: '',
          content_type: 'image/png',
          bytes: 3,
          sha256: 'a'.repeat(64),
          type: 'output',
          upload_duration: 0.5,
        },
      ],
    },
  },
];

/** Whole runs of every kind, from the first event to the last. */
export const TOLD_RUNS: Readonly<Record<string, (key: RunKey) => readonly RunEvent[]>> = {
  'that succeeds': (key) => [
    queued(key),
    assigned(key),
    started(key),
    uploading(key),
    succeeded(key, OUTPUTS),
  ],
  'with three attempts, all of them lost': (key) => [
    queued(key),
    assigned(key),
    requeued(key),
    assigned(key, { attempt: 2, executor: OTHER }),
    started(key, 2, OTHER),
    requeued(key, 2, OTHER),
    assigned(key, { attempt: 3 }),
    started(key, 3),
    givenUp(key, 'executor_lost', 3, ONE),
  ],
  'that fails': (key) => [queued(key), assigned(key), started(key), failed(key)],
  'that is cancelled while it is queued': (key) => [queued(key), cancelRequested(key)],
  'that is cancelled while it executes': (key) => [
    queued(key),
    assigned(key),
    started(key),
    cancelRequested(key, 1, ONE),
    cancelled(key),
  ],
  'that no executor takes in time': (key) => [queued(key), timedOut(key, 'start_deadline')],
  'that executes for too long': (key) => [
    queued(key),
    assigned(key),
    started(key),
    timedOut(key, 'run_timeout', 1, ONE),
  ],
};
