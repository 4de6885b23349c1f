import { gzipSync } from 'node:zlib';
import { timerSubject, type PendingDelivery } from '@runledger/contracts/deliveries/timers';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { reportProgress } from '@runledger/event-log/streams/activity';
import { recordDeliveryAttempt } from '@runledger/event-log/streams/delivery-attempts';
import { EXECUTOR, succeeded } from '@runledger/testing/run-events';
import { expect } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { anAttemptOf, upload } from '../../runs/attempts/an-upload.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import type { TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { aDeliveryAttempt } from '../../fixtures/runs/notified-runs.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { aChunk, attemptOf, store } from '../../runs/logs/some-logs.ts';

/** Longer than what an event has itself. */
const LARGE = 6_000;

/** An organisation with its word in everything that clients and programs can say. */
export interface MarkedTenant extends Tenant {
  readonly name: string;
  readonly word: string;
  /** One that has ended, with everything that a run can have. Its receiver is away. */
  readonly run: RunKey;
}

export const aMarkedTenant = async (bed: TestBed, gateway: TestGateway): Promise<MarkedTenant> => {
  const tenant = await bed.newTenant();
  const { org_id, user_id } = tenant;
  const word = `marked${org_id.slice(-8)}`;
  const records = catalogue(bed.log);
  const created_at = '2026-01-01T00:00:00.000Z';
  const name = `Organisation ${word}`;
  await records.createOrganisation({ id: org_id, name, created_at });
  await records.createUser({ id: user_id, org_id, name: word, created_at });
  const admin = await aKey(bed.log, tenant, { scopes: ['runs:write', 'admin'], name: word });
  const created = async (path: string, body: object): Promise<string> => {
    const answer = await post(`${gateway.api}${path}`, admin, body);
    expect(answer.status).toBe(201);
    return answer.body.id;
  };
  const workflow = await created('/workflows', { name: word });
  await created(`/workflows/${workflow}/versions`, { workflow: { kind: word } });
  await created('/api-keys', { name: word });
  await created('/schedules', { name: word, deployment_id: tenant.deployment.id, cron: '@yearly' });
  await call(`${gateway.api}/secrets/TOKEN`, admin, {
    method: 'PUT',
    body: JSON.stringify({ value: word }),
    headers: { 'content-type': 'application/json' },
  });
  await call(`${gateway.api}/retention`, admin, {
    method: 'PATCH',
    body: JSON.stringify({ outputs_days: 3 }),
    headers: { 'content-type': 'application/json' },
  });
  expect((await call(`${gateway.api}/webhooks/secret`, admin)).status).toBe(200);
  const text = new TextEncoder().encode(word.repeat(50));
  const file = await call(`${gateway.api}/files?filename=${word}.png`, admin, {
    method: 'POST',
    body: text,
    headers: { 'content-type': 'image/png' },
  });
  expect(file.status).toBe(201);
  const model = await call(`${gateway.api}/models/${file.body.sha256}`, admin, {
    method: 'PUT',
    body: JSON.stringify({ file: file.body.id }),
    headers: { 'content-type': 'application/json' },
  });
  expect(model.status).toBe(200);

  const run = await queueSample(gateway, tenant, {
    inputs: { prompt: word.padEnd(LARGE, '.') },
    webhook: `https://${word}.example/done?token=${word}`,
  });
  const attempt = await anAttemptOf(bed, run);
  const { body: stored } = await upload(gateway, attempt, text, { filename: `${word}.png` });
  reportProgress(bed.log, run, 1, EXECUTOR, {
    progress: 0.5,
    live_status: word,
    time: new Date().toISOString(),
  });
  await store(bed.log, attemptOf(run), aChunk(0, 2, word));
  const { body: log_blob } = await call(
    `${gateway.url}/executions/${org_id}/${run.run_id}/1/log`,
    attempt.token,
    {
      method: 'PUT',
      body: new Uint8Array(gzipSync(JSON.stringify({ chunks: [aChunk(0, 2, word)], lines: 2, bytes: 20 }))),
      headers: { 'content-type': 'application/gzip' },
    },
  );
  const end = succeeded(run, [{ ...anOutput, data: { files: [stored], text: [word] } }]);
  await appendAll(bed.log, { ...end, data: { ...end.data, log_blob } });
  const waiting: PendingDelivery = {
    version: 1,
    ...run,
    origin: `https://${word}.example`,
    round: 1,
    tries: 1,
    sequence: 1,
    due_at: created_at,
    expires_at: created_at,
  };
  await bed.log.js.publish(timerSubject(waiting, 'deferred'), JSON.stringify(waiting));
  await recordDeliveryAttempt(bed.log, run, aDeliveryAttempt(1, { answer: word }));
  return { ...tenant, key: admin, name, word, run };
};
