import type { RunEvent } from '@runledger/contracts/events/run-event';
import { endReasonOf } from '@runledger/contracts/events/run-error';
import { EndReason, RunStatus } from '@runledger/contracts/http/runs/run-attempt';
import { WorkflowRun } from '@runledger/contracts/http/runs/run';
import type { Run } from '@runledger/contracts/fold/run';
import type { QueuePosition } from '@runledger/contracts/requests/queue-position';
import type { GpuModel } from '@runledger/contracts/gpu';
import {
  EXECUTOR,
  assigned,
  cancelRequested,
  cancelled,
  queued,
  requeued,
  started,
  succeeded,
} from '@runledger/testing/run-events';
import {
  webhookDelivered,
  webhookGivenUp,
  redeliveryRequested,
  webhookStarted,
} from '@runledger/testing/webhook-events';
import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { runResponse, type ResponseContext } from '../../../src/runs/run-response.ts';
import { WEBHOOK_STATUSES } from '../../../src/views/stored-run.decide.ts';
import { anImage, anOutput, FILE_KEY } from '../../fixtures/runs/an-output.ts';
import { folded, foldedWebhook, timeOf } from '../../fixtures/runs/folded-runs.ts';
import { id, key, situations, type Situated } from '../../fixtures/runs/run-situations.ts';

const other = '01920000-0000-7000-8000-0000000000bb';
const alone: ResponseContext = {
  webhook: undefined,
  report: undefined,
  position: undefined,
  included: { workflow_inputs: null, workflow_api: null, missing: [] },
  outputUrl: ({ key, filename }) => `https://files.example/outputs/${key}/${encodeURIComponent(filename)}`,
  showCallback: (url) => url,
};
const shown: ResponseContext = { ...alone, report: { progress: 0.4, live_status: 'row 200/500' } };

/** What is the same in every situation. */
const always: Omit<WorkflowRun, keyof Situated | 'error' | 'attempts'> = {
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
  code_sha256: null,
  environment_sha256: null,
  is_realtime: false,
  number: 1,
  created_at: timeOf(1),
  outputs: [],
  warnings: [],
  queue_position: null,
  priority: 0,
  concurrency_key: null,
  tags: [],
  start_at: null,
  run_timeout_s: 3600,
  start_deadline_s: 3600,
  rerun_of: null,
  schedule: null,
  missing_members: [],
};

const OF_THE_SPECIFICATION =
  'id workflow_version_id workflow_inputs workflow_id workflow_api machine_id origin status created_at updated_at gpu_event_id gpu machine_version machine_type compute_function_call_id user_id org_id live_status webhook webhook_status number duration cold_start_duration cold_start_duration_total run_duration ended_at queued_at started_at progress is_realtime webhook_intermediate_status outputs'.split(
    ' ',
  );
const OURS = [
  'cold_start_parts',
  'code_sha256',
  'environment_sha256',
  'finished',
  'end_reason',
  'error',
  'warnings',
  'attempts',
  'queue_position',
  'priority',
  'concurrency_key',
  'tags',
  'start_at',
  'run_timeout_s',
  'start_deadline_s',
  'rerun_of',
  'schedule',
  'missing_members',
];
const NEVER_NULL =
  'id workflow_id origin status created_at updated_at number progress is_realtime webhook_intermediate_status outputs'.split(
    ' ',
  );

const described = Compile(WorkflowRun);
const fitting = (response: WorkflowRun): WorkflowRun => {
  expect([...described.Errors(response)]).toEqual([]);
  return response;
};

describe.each(situations)('a run that is $name', ({ events, is }) => {
  const response = runResponse(folded(...events), shown);

  it('has the expected value in every field', () => {
    const { error, attempts, ...others } = response;
    expect(others).toStrictEqual({ ...always, ...is });
    const hasError = is.status === 'failed' || is.status === 'timeout';
    expect(error && endReasonOf(error.kind)).toBe(hasError ? is.end_reason : null);
    const last = attempts.at(-1);
    expect(last?.number).toBe(is.compute_function_call_id?.split('.').map(Number)[1]);
    // A run that is queued again, or ends there, does not change its last attempt.
    const ends = attempts.filter(({ ended_at }) => ended_at === is.ended_at);
    expect(ends.map((attempt) => [attempt.end_reason, attempt.error, attempt.started_at])).toEqual(
      ends.map(() => [is.end_reason, error, is.started_at]),
    );
  });

  it('has all fields and no others, as the schema describes them', () => {
    expect(Object.keys(fitting(response)).sort()).toEqual([...OF_THE_SPECIFICATION, ...OURS].sort());
    expect(OF_THE_SPECIFICATION).toHaveLength(32);
    expect(
      Object.entries(response).filter(([name, value]) => value === null && NEVER_NULL.includes(name)),
    ).toEqual([]);
  });
});

describe('the situations of these tests', () => {
  it('have every status in use, and every end reason', () => {
    const seen = new Set(situations.map(({ is }) => is.status));
    expect(seen).toEqual(new Set(RunStatus.enum.filter((status) => status !== 'not-started')));
    const reasons = new Set(situations.map(({ is }) => is.end_reason));
    expect(reasons).toEqual(new Set([...EndReason.enum, null]));
  });
});

describe('the present state of a run', () => {
  const beginning = [queued(key), assigned(key)];
  const running = [...beginning, started(key)];

  it.each<[string, Run, string | null]>([
    ['queued', folded(queued(key)), 'waiting for an A10G'],
    ['started', folded(...beginning), 'starting on an A10G'],
    ['running', folded(...running), 'running'],
  ])('%s: is no progress and a sentence of ours while nothing was reported', (_name, run, live_status) => {
    expect(fitting(runResponse(run, alone))).toMatchObject({ progress: 0, live_status });
  });

  it('names the code of its last attempt from when it executes', () => {
    const begun = started(key);
    const code_sha256 = 'c'.repeat(64);
    const withCode = { ...begun, data: { ...begun.data, code_sha256 } };
    const codeIn = (...events: RunEvent[]) => fitting(runResponse(folded(...events), alone)).code_sha256;
    expect(codeIn(...beginning)).toBeNull();
    expect(codeIn(...beginning, withCode)).toBe(code_sha256);
    expect(codeIn(...beginning, withCode, succeeded(key))).toBe(code_sha256);
    expect(codeIn(...beginning, begun, succeeded(key))).toBeNull();
    expect(codeIn(...beginning, withCode, requeued(key), assigned(key, { attempt: 2 }))).toBeNull();
  });

  it('has the progress of a report without a sentence', () => {
    const report = { progress: 1, live_status: null };
    expect(runResponse(folded(...running), { ...alone, report })).toMatchObject({
      progress: 1,
      live_status: 'running',
    });
  });

  it.each<[QueuePosition | undefined, number | null, string]>([
    [undefined, null, 'waiting for an A10G'],
    [{ ahead: 0, capacity: 'busy' }, 1, 'waiting for an A10G (next)'],
    [{ ahead: 2, capacity: 'busy' }, 3, 'waiting for an A10G (2 ahead)'],
    [{ ahead: 0, capacity: 'no_gpu' }, 1, 'waiting for an A10G: no executor offers one now'],
  ])('shows its queue position: %j', (place, queue_position, live_status) => {
    const run = folded(queued(key));
    expect(fitting(runResponse(run, { ...alone, position: place }))).toMatchObject({
      queue_position,
      live_status,
    });
  });

  it('has no position after the queue', () => {
    const place: QueuePosition = { ahead: 2, capacity: 'busy' };
    for (const { events, is } of situations.filter(({ is }) => is.status !== 'queued')) {
      expect(runResponse(folded(...events), { ...shown, position: place })).toMatchObject({
        queue_position: null,
        live_status: is.live_status,
      });
    }
  });

  it('names every GPU with its article', () => {
    const models: GpuModel[] = ['T4', 'L4', 'A10G', 'L40S', 'A100-80GB', 'H200', 'RTX4090', 'GTX1080', 'CPU'];
    expect(models.map((gpu) => runResponse(folded(queued(key, { gpu })), alone).live_status)).toEqual([
      'waiting for a T4',
      'waiting for an L4',
      'waiting for an A10G',
      'waiting for an L40S',
      'waiting for an A100-80GB',
      'waiting for an H200',
      'waiting for an RTX4090',
      'waiting for a GTX1080',
      'waiting for a CPU',
    ]);
  });
});

describe('the request of a run', () => {
  it('shows the settings that it was queued with', () => {
    const settings = {
      gpu: 'H100',
      machine_type: 'comfyui',
      machine_version: '12',
      webhook: 'https://a.example/?secret=1',
      webhook_intermediate_status: true,
    } as const;
    expect(fitting(runResponse(folded(queued(key, settings)), alone))).toMatchObject(settings);
  });

  it.each(['api', 'manual', 'replay'] as const)('is its origin: %s', (origin) => {
    const rerun_of = origin === 'replay' ? other : null;
    expect(fitting(runResponse(folded(queued(key, { origin, rerun_of })), alone))).toMatchObject({
      origin,
      rerun_of,
    });
  });

  it('shows inputs and workflow, if the request includes them', () => {
    const asked = { workflow_inputs: { a: [1, null] }, workflow_api: [{ class_type: 'KSampler' }] };
    const included = { ...asked, missing: [] };
    expect(fitting(runResponse(folded(queued(key)), { ...alone, included }))).toMatchObject(asked);
  });

  it('says which of them are lost', () => {
    const missing = [
      { member: 'workflow_inputs', reason: 'gone' },
      { member: 'workflow_api', reason: 'damaged' },
    ] as const;
    const included = { ...alone.included, missing };
    expect(fitting(runResponse(folded(queued(key)), { ...alone, included }))).toMatchObject({
      workflow_inputs: null,
      workflow_api: null,
      missing_members: missing,
    });
  });
});

describe('the webhook of a run', () => {
  const run = folded(queued(key, { webhook: 'https://a.example/' }));
  const delivered = [webhookStarted(key), webhookDelivered(key)];
  const redelivery = redeliveryRequested(key, 2);

  it.each([
    ['nothing was sent', [], 'not-started'],
    ['it is sent', [webhookStarted(key)], 'running'],
    ['its status on the way is sent', [webhookStarted(key, 'intermediate')], 'running'],
    ['it was accepted', delivered, 'success'],
    ['it was given up', [webhookStarted(key), webhookGivenUp(key)], 'failed'],
    ['it is sent again', [...delivered, redelivery], 'running'],
    ['it was accepted again', [...delivered, redelivery, webhookDelivered(key, 2)], 'success'],
  ] as const)('%s: %s', (_name, events, status) => {
    const { state: webhook } = foldedWebhook(9, ...events);
    expect(fitting(runResponse(run, { ...alone, webhook })).webhook_status).toBe(status);
    expect(WEBHOOK_STATUSES).toContain(status);
    expect(runResponse(folded(queued(key)), { ...alone, webhook }).webhook_status).toBeNull();
  });
});

describe('the outputs of a run', () => {
  const file = { ...anImage, filename: 'a b?#%/ü.png', subfolder: 'x/y' };
  const output = { ...anOutput, node_meta: { a: 1 } };
  const stored = [{ ...output, data: { images: [file], text: ['done'] } }];
  const running = [queued(key), assigned(key), started(key)];

  it('have the addresses of their files', () => {
    expect(fitting(runResponse(folded(...running, succeeded(key, stored)), alone)).outputs).toEqual([
      {
        ...output,
        run_id: key.run_id,
        created_at: timeOf(4),
        updated_at: timeOf(4),
        data: {
          images: [
            {
              url: `https://files.example/outputs/${FILE_KEY}/a%20b%3F%23%25%2F%C3%BC.png`,
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

  it('include those that were stored before a cancel', () => {
    const end = cancelled(key);
    const stopped = { ...end, data: { ...end.data, outputs: stored } };
    const run = folded(...running, cancelRequested(key, 1, EXECUTOR), stopped);
    expect(fitting(runResponse(run, alone)).outputs.map(({ output_id }) => output_id)).toEqual(['render']);
  });

  it('keep every kind under its own name, also an unusual one', () => {
    const data: Record<string, string[]> = JSON.parse('{"__proto__":["a"],"constructor":["b"],"":[]}');
    const run = folded(...running, succeeded(key, [{ ...output, data }]));
    expect(JSON.stringify(runResponse(run, alone).outputs[0]?.data)).toBe(JSON.stringify(data));
  });
});
