import { blobSubject } from '@runledger/contracts/blobs';
import type { RunOutput, StoredFile } from '@runledger/contracts/events/run-event-data';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { newUuid } from '@runledger/contracts/ids';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { readToEnd } from '../subscribe/an-event-source.ts';
import { anAttempt, numbered, upload, type Attempt } from './an-upload.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({ projecting: true });
});
afterAll(() => bed[Symbol.asyncDispose]());

const anOutput = (data: RunOutput['data']): RunOutput => ({
  id: newUuid(),
  output_id: 'o',
  node_id: null,
  node_meta: null,
  type: null,
  data,
});

const lastEvent = async (run: RunKey): Promise<unknown> =>
  (await readToEnd(gateway.eventsOf(run), bed.tenant.key)).facts().at(-1)?.data;

const putList = ({ run, token }: Attempt, list: unknown, as: string | null = token, at = gateway) =>
  call(`${at.url}/executions/${run.org_id}/${run.run_id}/1/output-list`, as, {
    method: 'PUT',
    body: JSON.stringify(list),
    headers: { 'content-type': 'application/json' },
  });

const storedFile = async (attempt: Attempt, filename = 'file.png'): Promise<StoredFile> =>
  (await upload(gateway, attempt, numbered(10), { filename })).body;

describe('a list of outputs', () => {
  it('is stored, and shown by a read, a list of runs and an event stream', async () => {
    const attempt = await anAttempt(bed, gateway);
    const file = await storedFile(attempt);
    const list = [
      anOutput({ images: [file], text: Array.from({ length: 50 }, (_, at) => `${at}`.repeat(100)) }),
    ];
    const { status, body } = await putList(attempt, list);
    expect([status, body]).toEqual([
      201,
      { sha256: expect.stringMatching(/^[0-9a-f]{64}$/), bytes: JSON.stringify(list).length },
    ]);
    expect((await putList(attempt, list)).body).toEqual(body);
    await appendAll(bed.log, succeeded(attempt.run, [], body));

    const { run_id } = attempt.run;
    const shown = (await call(`${gateway.api}/run/${run_id}`, bed.tenant.key)).body;
    expect(shown).toMatchObject({
      status: 'success',
      outputs: [{ run_id, data: { text: list[0]?.data['text'], images: [{ filename: 'file.png' }] } }],
    });
    const runs = await waitFor('the list of runs', async () => {
      const page = (await call(`${gateway.api}/runs`, bed.tenant.key)).body;
      return page.runs.find(({ id, status: now }: typeof shown) => id === run_id && now === 'success');
    });
    expect(runs.outputs).toEqual(shown.outputs);
    const stream = await fetch(`${gateway.api}/run/${run_id}/events`, {
      headers: { authorization: `Bearer ${bed.tenant.key}` },
    });
    expect(await stream.text()).toContain(JSON.stringify(shown.outputs));
  });

  it('is accepted by a gateway that stored none of its files, and only with their own names', async () => {
    const attempt = await anAttempt(bed, gateway);
    const file = await storedFile(attempt);
    const other = await bed.gateway();
    expect((await putList(attempt, [anOutput({ images: [file] })], attempt.token, other)).status).toBe(201);
    const renamed = { ...file, filename: 'another.png' };
    expect((await putList(attempt, [anOutput({ images: [renamed] })], attempt.token, other)).status).toBe(
      422,
    );
  });

  it('is refused with any other token than that of its attempt', async () => {
    const attempt = await anAttempt(bed, gateway);
    const other = await anAttempt(bed, gateway);
    for (const token of [null, other.token, bed.tenant.key]) {
      expect((await putList(attempt, [], token)).status).toBe(401);
    }
    await appendAll(bed.log, succeeded(attempt.run));
    expect((await putList(attempt, [])).status).toBe(409);
  });

  it('is refused when it names a file that its attempt did not store', async () => {
    const [attempt, other] = [await anAttempt(bed, gateway), await anAttempt(bed, gateway)];
    const foreign = await storedFile(other);
    const { status, body } = await putList(attempt, [anOutput({ images: [foreign] })]);
    expect([status, body.detail[0].msg]).toEqual([422, expect.stringContaining('did not store')]);
  });

  it.each([
    ['is no list', { outputs: [] }, 422],
    ['has another item', [{ id: newUuid() }], 422],
    ['is too large', [anOutput({ text: ['x'.repeat(300_000)] })], 413],
  ])('is refused when it %s', async (_what, list, status) => {
    expect((await putList(await anAttempt(bed, gateway), list)).status).toBe(status);
  });

  it('that has expired is shown as empty, and as missing', async () => {
    const run = aRun(bed.tenant.org_id);
    const expired = { sha256: 'e'.repeat(64), bytes: 5_000 };
    await appendAll(bed.log, queued(run), assigned(run), started(run), succeeded(run, [], expired));
    const { status, body } = await call(`${gateway.api}/run/${run.run_id}`, bed.tenant.key);
    const missing = [{ member: 'outputs', reason: 'gone' }];
    expect([status, body.status, body.outputs, body.missing_members]).toEqual([200, 'success', [], missing]);
    const listed = await waitFor('the list of runs', async () => {
      const page = (await call(`${gateway.api}/runs`, bed.tenant.key)).body;
      return page.runs.find(({ id, status: now }: typeof body) => id === run.run_id && now === 'success');
    });
    expect([listed.outputs, listed.missing_members]).toEqual([[], missing]);
    expect(await lastEvent(run)).toMatchObject({ outputs: [], missing_members: missing });
  });

  it('that is damaged is shown as empty, and as missing', async () => {
    const run = aRun(bed.tenant.org_id);
    const damaged = { sha256: 'd'.repeat(64), bytes: 5_000 };
    await bed.log.js.publish(blobSubject('BLOBS', run.org_id, damaged.sha256), '[]');
    await appendAll(bed.log, queued(run), assigned(run), started(run), succeeded(run, [], damaged));
    const { body } = await call(`${gateway.api}/run/${run.run_id}`, bed.tenant.key);
    expect([body.outputs, body.missing_members]).toEqual([[], [{ member: 'outputs', reason: 'damaged' }]]);
    expect(await lastEvent(run)).toMatchObject({ outputs: [], missing_members: body.missing_members });
  });
});
