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

/** The input of a notification after these events, and after a progress report. */
export const payloadInput = (
  events: readonly RunEvent[],
  changes: Partial<PayloadInput> = {},
): PayloadInput => ({
  run: runAfter(...events),
  lost: [],
  sequence: events.length,
  report: { progress: 0.5, live_status: 'drawing row 256', time: '2026-01-01T00:00:03.500Z' },
  outputUrl: ({ key, filename }) => `${PUBLIC_URL}/outputs/${key}/${encodeURIComponent(filename)}`,
  runUrl: `${PUBLIC_URL}/run/${RUN}`,
  maxBytes: 256 * 1024,
  ...changes,
});

/** One input for each status of a run. */
export const INPUTS = {
  queued: payloadInput(queued, { report: undefined }),
  started: payloadInput(started, { report: undefined }),
  running: payloadInput(running),
  uploading: payloadInput(uploading),
  success: payloadInput([...uploading, anEvent('RunSucceeded')]),
  failed: payloadInput([...running, anEvent('RunFailed')]),
  timeout: payloadInput([...running, anEvent('RunTimedOut')]),
  cancelled: payloadInput([...cancelling, anEvent('RunCancelled')]),
} as const satisfies Record<Run['status'], PayloadInput>;

export const TAGGED = payloadInput([anEvent('RunQueued', { tags: ['a', 'customer:17'] })]);
/** With an output node that made nothing. */
export const WARNED = payloadInput([
  ...running,
  anEvent('RunSucceeded', {
    outputs: [],
    warnings: [{ kind: 'no_output', message: 'Node 9 (SaveImage) made no output.', node: '9' }],
  }),
]);
export const REQUEUED = payloadInput([...running, anEvent('RunRequeued')]);
export const CANCELLING = payloadInput(cancelling);

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
  payloadInput([...running, anEvent('RunSucceeded', { outputs })], changes);
