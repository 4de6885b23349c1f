import { createHash } from 'node:crypto';
import { blobSubject } from '@runledger/contracts/blobs';
import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import type { RunKey } from '@runledger/contracts/events/subjects';
import {
  aRun,
  assigned,
  cancelRequested,
  EXECUTOR,
  OTHER_EXECUTOR,
  queued,
  requeued,
  failed,
  started,
} from '@runledger/testing/run-events';
import { readRun } from '@runledger/event-log/read/read-run';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { forgetBefore, untilOlder } from '../../fixtures/runs/forgotten-log.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

interface Attempt {
  readonly run: RunKey;
  readonly token: string;
}

/** A queued run that is assigned, and has not started. */
const anAssigned = async (run?: RunKey): Promise<Attempt> => {
  const key = run ?? (await queueSample(gateway, bed.tenant));
  const keys = await newAttemptKeys();
  await appendAll(bed.log, assigned(key, { publicKey: keys.publicKey }));
  return { run: key, token: await signAttempt(keys, key, 1) };
};

const fetchText = async (
  { run, token }: Attempt,
  name: string,
  { attempt = 1, authorization = `Bearer ${token}` } = {},
): Promise<{ status: number; text: string; type: string | null }> => {
  const url = `${gateway.url}/executions/${run.org_id}/${run.run_id}/${attempt}/${name}`;
  const response = await fetch(url, { headers: authorization === '' ? {} : { authorization } });
  return { status: response.status, text: await response.text(), type: response.headers.get('content-type') };
};

const requestOf = async (key: RunKey) => {
  const read = await readRun(bed.log, key);
  if (read.kind !== 'found') throw new Error(read.kind);
  return read.run.request;
};

describe('an executor', () => {
  it('fetches the workflow and the inputs of its attempt, before and after it starts', async () => {
    const attempt = await anAssigned();
    const { workflow_sha256, inputs } = await requestOf(attempt.run);
    const workflow = await fetchText(attempt, 'workflow');
    expect([workflow.status, workflow.type]).toEqual([200, expect.stringContaining('application/json')]);
    expect(createHash('sha256').update(workflow.text).digest('hex')).toBe(workflow_sha256);
    const fetched = await fetchText(attempt, 'inputs');
    expect([fetched.status, JSON.parse(fetched.text)]).toEqual([200, inputs]);
  });

  it('is not told that its token is wrong when the beginning of the run has left the log', async () => {
    const attempt = await anAssigned();
    await untilOlder(bed.log);
    const last = await appendAll(bed.log, started(attempt.run));
    await forgetBefore(bed.log, last);
    expect(await fetchText(attempt, 'workflow')).toMatchObject({
      status: 503,
      text: expect.stringContaining('run_unreadable'),
    });
  });

  it('may fetch after a cancel request, which it may not have read yet', async () => {
    const attempt = await anAssigned();
    await appendAll(bed.log, cancelRequested(attempt.run, 1, EXECUTOR));
    expect((await fetchText(attempt, 'workflow')).status).toBe(200);
  });

  it.each(['workflow', 'inputs'])('gets no %s with another token than that of its attempt', async (name) => {
    const attempt = await anAssigned();
    const other = await anAssigned();
    const elsewhere = { ...attempt, run: aRun() };
    const foreign = { ...attempt, run: { ...attempt.run, org_id: elsewhere.run.org_id } };
    const answers = await Promise.all([
      fetchText({ ...attempt, token: other.token }, name),
      fetchText(attempt, name, { authorization: '' }),
      fetchText(attempt, name, { authorization: 'Bearer x' }),
      fetchText(attempt, name, { authorization: `Bearer ${bed.tenant.key}` }),
      fetchText(attempt, name, { attempt: 2 }),
      fetchText(elsewhere, name),
      fetchText(foreign, name),
    ]);
    const refused = aRefusal('attempt_token_invalid', 'This is not the token of this attempt');
    for (const { status, text } of answers) expect([status, JSON.parse(text)]).toEqual([401, refused]);
  });

  it('gets nothing when its attempt is over', async () => {
    const ended = await anAssigned();
    await appendAll(bed.log, failed(ended.run));
    const answer = await fetchText(ended, 'workflow');
    expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('Attempt 1 is over')]);
    const lost = await anAssigned();
    await appendAll(bed.log, requeued(lost.run));
    expect((await fetchText(lost, 'workflow')).status).toBe(409);
    await appendAll(bed.log, assigned(lost.run, { attempt: 2, executor: OTHER_EXECUTOR }));
    expect((await fetchText(lost, 'workflow')).status).toBe(409);
  });

  it('fetches inputs that are not in the log', async () => {
    const inputs = { prompt: 'x'.repeat(50_000) };
    const run = await queueSample(gateway, bed.tenant, { inputs });
    const fetched = await fetchText(await anAssigned(run), 'inputs');
    const { inputs_blob } = await requestOf(run);
    expect(createHash('sha256').update(fetched.text).digest('hex')).toBe(inputs_blob?.sha256);
    expect(JSON.parse(fetched.text)).toEqual(inputs);
  });

  it('learns that its workflow or its inputs are lost, and what to do', async () => {
    const run = aRun(bed.tenant.org_id);
    const lost = { sha256: 'e'.repeat(64), bytes: 5_000 };
    await appendAll(bed.log, queued(run, { workflow_sha256: lost.sha256, inputs: null, inputs_blob: lost }));
    const attempt = await anAssigned(run);
    for (const [name, what, code] of [
      ['workflow', 'Create another version', 'assigned_workflow_lost'],
      ['inputs', 'Queue it again', 'assigned_inputs_lost'],
    ] as const) {
      const gone = await fetchText(attempt, name);
      expect([gone.status, JSON.parse(gone.text)]).toEqual([
        410,
        aRefusal(code, expect.stringContaining(what)),
      ]);
    }
  });

  it('learns that its workflow or its inputs are damaged, which is not the same', async () => {
    const run = await queueSample(gateway, bed.tenant, { inputs: { prompt: 'y'.repeat(50_000) } });
    const { workflow_sha256, inputs_blob } = await requestOf(run);
    const { org_id } = run;
    const attempt = await anAssigned(run);
    await bed.log.js.publish(blobSubject('WORKFLOWS', org_id, workflow_sha256), '{}');
    await bed.log.js.publish(blobSubject('BLOBS', org_id, inputs_blob?.sha256 ?? ''), '{}');
    for (const [name, code] of [
      ['workflow', 'assigned_workflow_damaged'],
      ['inputs', 'assigned_inputs_damaged'],
    ] as const) {
      const damaged = await fetchText(attempt, name);
      expect([damaged.status, JSON.parse(damaged.text)]).toEqual([
        424,
        aRefusal(code, expect.stringMatching(/damaged in the store\. \w+/)),
      ]);
    }
  });
});
