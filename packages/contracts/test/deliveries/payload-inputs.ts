import type { RunOutput } from '../../src/events/run-event-data.ts';
import type { Run } from '../../src/fold/run.ts';
import type { RunEvent } from '../../src/events/run-event.ts';
import type { PayloadInput } from '../../src/deliveries/webhook-payload.ts';
import { anEvent, RUN, runAfter } from '../fixtures/run-events.ts';

const PUBLIC_URL = 'https://runs.example.com/api';

const queued = [anEvent('RunQueued')];
const started = [...queued, anEvent('RunAssigned')];
const running = [...started, anEvent('RunStarted')];
const uploading = [...running, anEvent('RunUploading')];
const cancelling = [...running, anEvent('RunCancelRequested')];

/** What a receiver is told of a run after these events, and after a report of an attempt in between. */
export const told = (events: readonly RunEvent[], changes: Partial<PayloadInput> = {}): PayloadInput => ({
  run: runAfter(...events),
  sequence: events.length,
  report: { progress: 0.5, live_status: 'drawing row 256', time: '2026-01-01T00:00:03.500Z' },
  publicUrl: PUBLIC_URL,
  runUrl: `${PUBLIC_URL}/run/${RUN}`,
  maxBytes: 256 * 1024,
  ...changes,
});

/** One run in each status that a receiver can be told of. */
export const TOLD = {
  queued: told(queued, { report: undefined }),
  started: told(started, { report: undefined }),
  running: told(running),
  uploading: told(uploading),
  success: told([...uploading, anEvent('RunSucceeded')]),
  failed: told([...running, anEvent('RunFailed')]),
  timeout: told([...running, anEvent('RunTimedOut')]),
  cancelled: told([...cancelling, anEvent('RunCancelled')]),
} as const satisfies Record<Run['status'], PayloadInput>;

export const REQUEUED = told([...running, anEvent('RunRequeued')]);
export const CANCELLING = told(cancelling);

/** Some outputs, each of one text. */
export const textOutputs = (...texts: readonly string[]): RunOutput[] =>
  texts.map((text, n) => ({
    id: `01920000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`,
    output_id: `text-${n}`,
    node_id: null,
    node_meta: null,
    type: null,
    data: { text: [text] },
  }));

export const succeededWith = (outputs: RunOutput[], changes: Partial<PayloadInput> = {}): PayloadInput =>
  told([...running, anEvent('RunSucceeded', { outputs })], changes);
