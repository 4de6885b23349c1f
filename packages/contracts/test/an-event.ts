import type { RunEvent, RunEventOf, RunEventType } from '../src/run-event.ts';
import { RUN_EVENTS } from '../src/run-event.ts';
import { executorId, orgId, runId } from '../src/ids.ts';
import { lifecycleOf, subjectOf } from '../src/subjects.ts';
import type { StoredMessage } from '../src/history.ts';
import { evolve, isImpossible } from '../src/evolve.ts';
import type { Fact, Run } from '../src/run.ts';

export const ORG = orgId('01920000-0000-7000-8000-00000000000a');
export const RUN = runId('01920000-0000-7000-8000-00000000000b');
export const EXECUTOR = executorId('box.0a1b2c3d4e5f');
export const OTHER_EXECUTOR = executorId('box.ffffffffffff');
const uuid = (n: number): string => `01920000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
const SHA256 = 'a'.repeat(64);

const DATA: { [T in RunEventType]: RunEventOf<T>['data'] } = {
  RunQueued: {
    user_id: uuid(1),
    origin: 'api',
    deployment_id: uuid(2),
    workflow_id: uuid(3),
    workflow_version_id: uuid(4),
    workflow_sha256: SHA256,
    machine_id: uuid(5),
    machine_name: 'a10g',
    machine_type: 'program',
    machine_version: '1',
    runner: { kind: 'program', program: 'render-image' },
    gpu: 'A10G',
    inputs: { size: 512 },
    webhook: null,
    webhook_intermediate_status: false,
    start_deadline_s: 3600,
    run_timeout_s: 3600,
    max_attempts: 3,
    rerun_of: null,
  },
  RunCancelRequested: { by: 'client', user_id: uuid(1) },
  RunAssigned: {
    occupancy_id: uuid(6),
    slot: 0,
    gpu: 'A10G',
    runner: { kind: 'program', program: 'render-image' },
    workflow_version_id: uuid(4),
    workflow_sha256: SHA256,
    workflow: { kind: 'fractal' },
    inputs: { size: 512 },
    run_timeout_s: 3600,
    executor_public_key: 'MCowBQYDK2VwAyEA',
  },
  RunRequeued: { reason: 'executor_lost', message: 'no heartbeat for 6 s' },
  RunTimedOut: { reason: 'run_timeout', message: 'it ran for 3600 s', progress: 0.5 },
  RunGivenUp: { reason: 'executor_lost', message: 'all 3 attempts were lost' },
  RunCancelEnforced: { message: 'the executor is gone' },
  RunStarted: {},
  RunUploading: { files: 1, bytes: 1024 },
  RunSucceeded: {
    outputs: [
      {
        id: uuid(7),
        output_id: 'render-image',
        node_id: null,
        node_meta: null,
        type: null,
        data: {
          images: [
            {
              key: 'k'.repeat(43),
              filename: 'fractal.png',
              subfolder: '',
              content_type: 'image/png',
              bytes: 1024,
              sha256: SHA256,
              type: 'output',
              upload_duration: 0.01,
            },
          ],
          text: ['done'],
        },
      },
    ],
  },
  RunFailed: { reason: 'workflow_error', message: 'size is too large', outputs: [], progress: 0.25 },
  RunCancelled: { forced: false, outputs: [], progress: 0.75 },
};

export interface Circumstances {
  readonly attempt?: number;
  readonly executor?: string | null;
}

const BEFORE_ANY_ATTEMPT: ReadonlySet<RunEventType> = new Set(['RunQueued']);

export const anEvent = <T extends RunEventType>(
  type: T,
  data: Partial<RunEventOf<T>['data']> = {},
  circumstances: Circumstances = {},
): RunEventOf<T> => {
  const queued = BEFORE_ANY_ATTEMPT.has(type);
  return {
    type,
    version: 1,
    event_id: uuid(0x100),
    run_id: RUN,
    org_id: ORG,
    time: '2026-01-01T00:00:00.000Z',
    writer: { service: RUN_EVENTS[type].writer, instance: 'one' },
    attempt: circumstances.attempt ?? (queued ? 0 : 1),
    executor_id: circumstances.executor === undefined ? (queued ? null : EXECUTOR) : circumstances.executor,
    correlation_id: 'request-1',
    causation_id: null,
    traceparent: null,
    data: { ...DATA[type], ...data },
  } as unknown as RunEventOf<T>;
};

/** Broker times rise by one second for each sequence. */
export const timeOf = (sequence: number): string =>
  new Date(Date.UTC(2026, 0, 1) + sequence * 1000).toISOString();

export const factOf = (event: RunEvent, sequence: number): Fact => ({
  event,
  sequence,
  time: timeOf(sequence),
});

/** The run after these events, at sequences 1, 2, 3, … */
export const runAfter = (...events: readonly RunEvent[]): Run => {
  let run: Run | undefined;
  for (const [index, event] of events.entries()) {
    const next = evolve(run, factOf(event, index + 1));
    if (isImpossible(next)) throw new Error(`the test's own history is impossible: ${next.impossible}`);
    run = next;
  }
  if (!run) throw new Error('a history needs an event');
  return run;
};

export const stored = (
  event: RunEvent,
  sequence: number,
  rests: number,
  changes: Partial<StoredMessage> = {},
): StoredMessage => ({
  subject: subjectOf(event),
  sequence,
  time: timeOf(sequence),
  fence: lifecycleOf({ org_id: ORG, run_id: RUN }),
  expectedSequence: rests,
  body: event,
  ...changes,
});
