import type { WorkflowRun } from '@runledger/contracts/http/run';
import { describe, expect, it } from 'vitest';
import type { Run } from '@runledger/contracts/run';
import { runResponse, type Shown } from '../../src/domain/run-response.ts';
import { folded, timeOf } from '../fixtures/folded-runs.ts';
import {
  aRun,
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

const key = aRun();
const occupancy = '01920000-0000-7000-8000-0000000000aa';
const second = '01920000-0000-7000-8000-0000000000bb';
const beginning = [queued(key), assigned(key, { occupancy })];
const running = [...beginning, started(key)];
const id = '01920000-0000-7000-8000-000000000001';
const shown: Shown = {
  webhook: undefined,
  report: { progress: 0.4, live_status: 'row 200/500' },
  workflow_inputs: null,
  workflow_api: null,
  publicUrl: 'https://files.example',
};

/** What is the same in every situation. */
const always: Partial<WorkflowRun> = {
  id: key.run_id,
  org_id: key.org_id,
  user_id: id,
  workflow_id: id,
  workflow_version_id: id,
  workflow_inputs: null,
  workflow_api: null,
  machine_id: id,
  machine_version: '1',
  machine_type: 'program',
  origin: 'api',
  gpu: 'A10G',
  webhook: null,
  webhook_status: null,
  webhook_intermediate_status: false,
  is_realtime: false,
  number: 1,
  created_at: timeOf(1),
  queue_position: null,
  rerun_of: null,
};

const unassigned = { gpu_event_id: null, compute_function_call_id: null };
const first = { gpu_event_id: occupancy, compute_function_call_id: `${key.run_id}.1` };
const notEnded = {
  finished: false,
  end_reason: null,
  ended_at: null,
  duration: null,
  run_duration: null,
  outputs: [],
};
const notStarted = { started_at: null, cold_start_duration: null, cold_start_duration_total: null };
const startedThird = { started_at: timeOf(3), cold_start_duration: 3, cold_start_duration_total: 3 };
const ended = { finished: true, live_status: null, outputs: [] };

interface Situation {
  readonly name: string;
  readonly run: Run;
  readonly is: Partial<WorkflowRun>;
}

const situations: readonly Situation[] = [
  {
    name: 'queued',
    run: folded(queued(key)),
    is: {
      ...unassigned,
      ...notEnded,
      ...notStarted,
      status: 'queued',
      live_status: 'waiting for an A10G',
      progress: 0,
      queued_at: timeOf(1),
      updated_at: timeOf(1),
    },
  },
  {
    name: 'started',
    run: folded(...beginning),
    is: {
      ...first,
      ...notEnded,
      ...notStarted,
      status: 'started',
      live_status: 'row 200/500',
      progress: 0.4,
      queued_at: timeOf(1),
      updated_at: timeOf(2),
    },
  },
  {
    name: 'running',
    run: folded(...running),
    is: {
      ...first,
      ...notEnded,
      ...startedThird,
      status: 'running',
      live_status: 'row 200/500',
      progress: 0.4,
      queued_at: timeOf(1),
      updated_at: timeOf(3),
    },
  },
  {
    name: 'uploading',
    run: folded(...running, uploading(key)),
    is: {
      ...first,
      ...notEnded,
      ...startedThird,
      status: 'uploading',
      live_status: 'storing output files',
      progress: 0.4,
      queued_at: timeOf(1),
      updated_at: timeOf(4),
    },
  },
  {
    name: 'running, its cancel requested',
    run: folded(...running, cancelRequested(key, 1, ONE)),
    is: {
      ...first,
      ...notEnded,
      ...startedThird,
      status: 'running',
      live_status: 'cancelling',
      progress: 0.4,
      queued_at: timeOf(1),
      updated_at: timeOf(4),
    },
  },
  {
    name: 'queued again after a loss',
    run: folded(...running, requeued(key)),
    is: {
      ...first,
      ...notEnded,
      ...notStarted,
      status: 'queued',
      live_status: 'waiting for an A10G',
      progress: 0,
      queued_at: timeOf(4),
      updated_at: timeOf(4),
    },
  },
  {
    name: 'running in its second attempt',
    run: folded(
      ...running,
      requeued(key),
      assigned(key, { attempt: 2, executor: OTHER, occupancy: second }),
      started(key, 2, OTHER),
    ),
    is: {
      ...notEnded,
      status: 'running',
      live_status: 'row 200/500',
      progress: 0.4,
      gpu_event_id: second,
      compute_function_call_id: `${key.run_id}.2`,
      queued_at: timeOf(4),
      started_at: timeOf(6),
      cold_start_duration: 3,
      cold_start_duration_total: 7.5,
      updated_at: timeOf(6),
    },
  },
  {
    name: 'success',
    run: folded(...running, succeeded(key)),
    is: {
      ...first,
      ...ended,
      ...startedThird,
      status: 'success',
      end_reason: 'completed',
      progress: 1,
      queued_at: timeOf(1),
      ended_at: timeOf(4),
      updated_at: timeOf(4),
      duration: 4.5,
      run_duration: 1.5,
    },
  },
  {
    name: 'failed',
    run: folded(...running, failed(key)),
    is: {
      ...first,
      ...ended,
      ...startedThird,
      status: 'failed',
      end_reason: 'workflow_error',
      progress: 0.25,
      queued_at: timeOf(1),
      ended_at: timeOf(4),
      updated_at: timeOf(4),
      duration: 4.5,
      run_duration: 1.5,
    },
  },
  {
    name: 'failed before it was assigned',
    run: folded(queued(key), givenUp(key, 'deployment_removed')),
    is: {
      ...unassigned,
      ...ended,
      ...notStarted,
      status: 'failed',
      end_reason: 'deployment_removed',
      progress: 0,
      queued_at: timeOf(1),
      ended_at: timeOf(2),
      updated_at: timeOf(2),
      duration: 1.5,
      run_duration: null,
    },
  },
  {
    name: 'timeout while it waited',
    run: folded(queued(key), timedOut(key, 'no_capacity')),
    is: {
      ...unassigned,
      ...ended,
      ...notStarted,
      status: 'timeout',
      end_reason: 'no_capacity',
      progress: 0,
      queued_at: timeOf(1),
      ended_at: timeOf(2),
      updated_at: timeOf(2),
      duration: 1.5,
      run_duration: null,
    },
  },
  {
    name: 'timeout while it ran',
    run: folded(...running, timedOut(key, 'run_timeout', 1, ONE)),
    is: {
      ...first,
      ...ended,
      ...startedThird,
      status: 'timeout',
      end_reason: 'run_timeout',
      progress: 0,
      queued_at: timeOf(1),
      ended_at: timeOf(4),
      updated_at: timeOf(4),
      duration: 4.5,
      run_duration: 1.5,
    },
  },
  {
    name: 'cancelled while it was queued',
    run: folded(queued(key), cancelRequested(key)),
    is: {
      ...unassigned,
      ...ended,
      ...notStarted,
      status: 'cancelled',
      end_reason: 'cancelled_by_client',
      progress: 0,
      queued_at: timeOf(1),
      ended_at: timeOf(2),
      updated_at: timeOf(2),
      duration: 1.5,
      run_duration: null,
    },
  },
  {
    name: 'cancelled while it ran',
    run: folded(...running, cancelRequested(key, 1, ONE), cancelled(key)),
    is: {
      ...first,
      ...ended,
      ...startedThird,
      status: 'cancelled',
      end_reason: 'cancelled_by_client',
      progress: 0.75,
      queued_at: timeOf(1),
      ended_at: timeOf(5),
      updated_at: timeOf(5),
      duration: 6,
      run_duration: 3,
    },
  },
];

const FIELDS_OF_THE_SPECIFICATION =
  'id workflow_version_id workflow_inputs workflow_id workflow_api machine_id origin status created_at updated_at gpu_event_id gpu machine_version machine_type compute_function_call_id user_id org_id live_status webhook webhook_status number duration cold_start_duration cold_start_duration_total run_duration ended_at queued_at started_at progress is_realtime webhook_intermediate_status outputs'.split(
    ' ',
  );
const OURS = ['finished', 'end_reason', 'queue_position', 'rerun_of'];

describe('a run that is', () => {
  it.each(situations)('$name: every field is what it has to be', ({ run, is }) => {
    expect(runResponse(run, shown)).toEqual({ ...always, ...is });
  });

  it.each(situations)('$name: no field is left out', ({ run }) => {
    const fields = Object.entries(runResponse(run, shown)).filter(([, value]) => value !== undefined);
    expect(fields.map(([name]) => name).sort()).toEqual([...FIELDS_OF_THE_SPECIFICATION, ...OURS].sort());
    expect(FIELDS_OF_THE_SPECIFICATION).toHaveLength(32);
  });
});

describe('what a run shows', () => {
  it('is no progress and a sentence of ours while its attempt has not reported', () => {
    const silent = { ...shown, report: undefined };
    expect(runResponse(folded(...beginning), silent)).toMatchObject({
      progress: 0,
      live_status: 'starting on an A10G',
    });
    expect(runResponse(folded(...running), silent)).toMatchObject({ progress: 0, live_status: 'running' });
  });

  it.each([
    ['T4', 'a T4'],
    ['L40S', 'an L40S'],
    ['A100-80GB', 'an A100-80GB'],
    ['H100', 'an H100'],
  ] as const)('names a %s as %s', (gpu, words) => {
    expect(runResponse(folded(queued(key, { gpu })), shown).live_status).toBe(`waiting for ${words}`);
  });

  it('is the webhook that it was queued with', () => {
    const run = folded(queued(key, { webhook: 'https://a.example/', webhook_intermediate_status: true }));
    expect(runResponse(run, shown)).toMatchObject({
      webhook: 'https://a.example/',
      webhook_status: 'not-started',
      webhook_intermediate_status: true,
    });
  });

  it('is which run it repeats', () => {
    const run = folded(queued(key, { origin: 'replay', rerun_of: second }));
    expect(runResponse(run, shown)).toMatchObject({ origin: 'replay', rerun_of: second });
  });

  it('is each output with the addresses of its files', () => {
    const file = {
      key: 'k'.repeat(43),
      filename: 'a b?#%/ü.png',
      subfolder: 'x/y',
      content_type: 'image/png',
      bytes: 10,
      sha256: 'a'.repeat(64),
      type: 'output' as const,
      upload_duration: 0.25,
    };
    const output = { id, output_id: 'render', node_id: '9', node_meta: { a: 1 }, type: null };
    const run = folded(...running, succeeded(key, [{ ...output, data: { images: [file], text: ['done'] } }]));
    expect(runResponse(run, shown).outputs).toEqual([
      {
        ...output,
        run_id: key.run_id,
        created_at: timeOf(4),
        updated_at: timeOf(4),
        data: {
          images: [
            {
              url: `https://files.example/outputs/${'k'.repeat(43)}/a%20b%3F%23%25%2F%C3%BC.png`,
              type: 'output',
              filename: 'a b?#%/ü.png',
              is_public: true,
              subfolder: 'x/y',
              upload_duration: 0.25,
              content_type: 'image/png',
            },
          ],
          text: ['done'],
        },
      },
    ]);
  });
});
