import { runId } from '@runledger/contracts/ids';
import { runEventSubject } from '@runledger/contracts/events/subjects';
import { recordDeliveryAttempt } from '@runledger/event-log/streams/delivery-attempts';
import {
  assigned,
  aRun,
  deleted,
  failed,
  OTHER_EXECUTOR,
  outputsDeleted,
  queued,
  requeued,
  started,
  succeeded,
} from '@runledger/testing/run-events';
import { webhookDelivered, webhookStarted } from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { aDeliveryAttempt } from '../../fixtures/runs/notified-runs.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { aChunk, attemptOf, store } from '../logs/some-logs.ts';

let bed: TestBed;
let gateway: TestGateway;
let admin: string;
let reader: string;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
  admin = await aKey(bed.log, bed.tenant, { scopes: ['admin'] });
  reader = await aKey(bed.log, bed.tenant, { scopes: ['runs:read'] });
});
afterAll(() => bed[Symbol.asyncDispose]());

const ownRun = () => aRun(bed.tenant.org_id);
const historyOf = ({ run_id }: { readonly run_id: string }, key = reader, query = ''): Promise<ApiAnswer> =>
  call(`${gateway.api}/run/${run_id}/history${query}`, key);

interface Entry {
  readonly kind: string;
  readonly type?: string;
  readonly sentence?: string;
  readonly reason?: string;
  readonly log?: object;
  readonly changes?:
    | readonly { readonly member: string; readonly before: unknown; readonly after: unknown }[]
    | null;
}
const entriesOf = ({ body }: ApiAnswer): Entry[] => body.entries;
const namesOf = (answer: ApiAnswer): string[] =>
  entriesOf(answer).map(({ kind, type, reason }) => type ?? (kind === 'gap' ? `gap: ${reason ?? ''}` : kind));
const changesOf = (answer: ApiAnswer, type: string): Record<string, unknown> =>
  Object.fromEntries(
    (entriesOf(answer).find((entry) => entry.type === type)?.changes ?? []).map(
      ({ member, before, after }) => [member, [before, after]],
    ),
  );

describe('the history of a run', () => {
  it('has every fact with its writer, its cause, and what it changed', async () => {
    const run = ownRun();
    const first = queued(run, { webhook: 'https://example.com/secret' });
    const second = { ...assigned(run), causation_id: first.event_id };
    await appendAll(bed.log, first, second, started(run), failed(run));
    const answer = await historyOf(run);
    expect(answer.body).toMatchObject({
      run_id: run.run_id,
      status: 'failed',
      finished: true,
      webhook_status: 'not-started',
    });
    expect(namesOf(answer)).toEqual(['RunQueued', 'RunAssigned', 'RunStarted', 'RunFailed']);
    const [, assignment, , end] = entriesOf(answer);
    expect(assignment).toMatchObject({
      writer: 'scheduler',
      attempt: 1,
      executor: 'box',
      cause: { event_id: first.event_id, type: 'RunQueued', sequence: expect.any(Number) },
      sentence: 'attempt 1 on box, slot 0 (A10G)',
      details: null,
    });
    expect(end).toMatchObject({ sentence: 'program_exit: size is too large', cause: null });
    expect(changesOf(answer, 'RunAssigned')).toMatchObject({
      status: ['queued', 'started'],
      'attempts[0]': [null, expect.objectContaining({ number: 1, executor: 'box', ended_at: null })],
    });
    expect(changesOf(answer, 'RunFailed')).toMatchObject({
      status: ['running', 'failed'],
      progress: [0, 0.25],
      finished: [false, true],
      'attempts[0].end_reason': [null, 'workflow_error'],
    });
    expect(JSON.stringify(answer.body)).not.toContain('/secret');
  });

  it('shows what the services know to an admin, and no secret input', async () => {
    const run = ownRun();
    const inputs = { size: 512, token: 'sealed-text' };
    const first = queued(run, { inputs, secret_inputs: ['token'] });
    await appendAll(bed.log, first);
    const { body } = await historyOf(run, admin);
    expect(body.entries[0].details).toMatchObject({
      event_id: first.event_id,
      correlation_id: 'request-1',
      instance: 'test',
      executor_id: null,
      data: { inputs: { size: 512, token: null }, max_attempts: 3 },
    });
    expect(JSON.stringify(body)).not.toContain('sealed-text');
  });

  it('has the notifications and lines of the logs between the facts', async () => {
    const run = ownRun();
    await appendAll(
      bed.log,
      queued(run, { webhook: 'https://example.com/hook' }),
      assigned(run),
      started(run),
    );
    await store(bed.log, attemptOf(run), aChunk(0, 20));
    await appendAll(bed.log, requeued(run), assigned(run, { attempt: 2, executor: OTHER_EXECUTOR }));
    await appendWebhook(bed.log, webhookStarted(run), webhookDelivered(run));
    await recordDeliveryAttempt(bed.log, run, {
      ...aDeliveryAttempt(1),
      started_at: new Date().toISOString(),
    });
    const answer = await historyOf(run, reader, '?log_lines=2');
    expect(namesOf(answer).filter((name) => name !== 'log')).toEqual([
      'RunQueued',
      'RunAssigned',
      'RunStarted',
      'RunRequeued',
      'RunAssigned',
      'WebhookStarted',
      'WebhookDelivered',
      'delivery',
    ]);
    const logs = entriesOf(answer).flatMap(({ log }) => log ?? []);
    expect(logs).toMatchObject([
      { line: 'line 0', attempt: 1 },
      { line: 'line 1' },
      { cut: { lines: 16 } },
      { line: 'line 18' },
      { line: 'line 19' },
    ]);
    expect(changesOf(answer, 'WebhookDelivered')).toEqual({ webhook_status: ['running', 'success'] });
    expect(namesOf(await historyOf(run, reader, '?log_lines=0'))).not.toContain('log');
  });

  it('shows no outputs that were deleted since', async () => {
    const run = ownRun();
    const output = { ...anOutput, data: { text: ['the secret text'] } };
    await appendAll(bed.log, queued(run), assigned(run), started(run), succeeded(run, [output]));
    expect(changesOf(await historyOf(run), 'RunSucceeded')).toMatchObject({
      'outputs[0]': [null, expect.objectContaining({ data: { text: ['the secret text'] } })],
    });
    await appendAll(bed.log, outputsDeleted(run));
    for (const key of [reader, admin]) {
      const { status, body } = await historyOf(run, key);
      expect([status, body.entries.length]).toEqual([200, 5]);
      expect(JSON.stringify(body)).not.toContain('the secret text');
    }
  });

  it('shows messages that are no facts, and facts that only a later release understands', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run));
    const subject = `runs.${run.org_id}.${run.run_id}.life`;
    await bed.log.js.publish(`${subject}.started.executor.1.none`, JSON.stringify(started(run)));
    await appendAll(bed.log, { ...assigned(run), version: 99 });
    await appendAll(bed.log, started(run));
    const answer = await historyOf(run);
    expect(answer.body).toMatchObject({ status: null, finished: false });
    expect(namesOf(answer)).toEqual(['RunQueued', 'gap: refused', 'gap: newer', 'RunStarted']);
    expect(entriesOf(answer).map(({ changes }) => changes?.length)).toEqual([
      expect.any(Number),
      undefined,
      undefined,
      undefined,
    ]);
    expect(entriesOf(answer)[2]?.sentence).toContain('RunAssigned in version 99');
  });

  it('shows a fact that a forged message hides, and the message', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run), assigned(run), started(run));
    await bed.log.js.publish(runEventSubject(started(run)), JSON.stringify(started(run)));
    await appendAll(bed.log, succeeded(run));
    const answer = await historyOf(run);
    expect(namesOf(answer)).toEqual([
      'RunQueued',
      'RunAssigned',
      'RunStarted',
      'gap: refused',
      'RunSucceeded',
    ]);
    expect(answer.body.status).toBe('success');
  });

  it('does not exist for another organisation, after the deletion, and for a run that never was', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run), assigned(run), started(run), succeeded(run));
    const other = await bed.newTenant();
    expect((await historyOf(run, other.key)).status).toBe(404);
    expect((await historyOf(aRun())).status).toBe(404);
    await appendAll(bed.log, deleted(run));
    expect((await historyOf(run)).status).toBe(404);
  });

  it('is the same for a client that has it already', async () => {
    const { run_id } = await queueSample(gateway, bed.tenant);
    const { headers } = await historyOf({ run_id: runId(run_id) });
    const again = await call(`${gateway.api}/run/${run_id}/history`, reader, {
      headers: { 'if-none-match': headers.get('etag') ?? '' },
    });
    expect(again.status).toBe(304);
  });
});
