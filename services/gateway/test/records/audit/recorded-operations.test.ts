import { AuditAction } from '@runledger/contracts/audit-actions';
import type { AuditEntry } from '@runledger/contracts/http/audit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aFleet, anExecutor } from '../../fixtures/gateway/a-fleet.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { A_SECRET_KEY } from '../../fixtures/gateway/a-gateway.ts';
import { call, postKeyed } from '../../fixtures/requests/requests.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { secretBox } from '@runledger/webhooks/secret-box';
import { aTrail, type ATrail } from './a-trail.ts';

/** Operations that change something and have no audit records, each for the reason beside it in the code. */
const UNRECORDED = [
  'createRunToken',
  'queueRun',
  'rerunRun',
  'redeliverRun',
  'redeliverMany',
  'uploadFile',
  'beginFileUpload',
  'continueFileUpload',
  'deleteFileUpload',
  'keepModel',
  'chooseOrganisation',
  'beginProviderSignIn',
  'checkDeployment',
  'previewInvitation',
];
/** They have no caller with a key: `accounts/account-records.test.ts` reads their records. */
const OF_PEOPLE = ['session.created', 'session.ended', 'password.changed', 'invitation.accepted'];
/** Only who has the operator's credentials of the broker does these, or nobody. */
const WITHOUT_OPERATION = [
  'organisation.created',
  'log.provisioned',
  'views.rebuilt',
  'credential.refused',
  'session.refused',
  'member.added',
  'identity.linked',
];

let trail: ATrail;
let fleet: AsyncDisposable;
/** What the requests below have created. */
const ids = new Map<string, string>();
beforeAll(async () => {
  trail = await aTrail();
  fleet = await aFleet(trail.bed.log, anExecutor('east'));
  const run = await queueSample(trail.gateway, trail.bed.tenant);
  ids.set('run', run.run_id);
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await trail[Symbol.asyncDispose]();
});

interface Done {
  readonly action: AuditAction;
  /** With names of `ids` in braces. */
  readonly request: string;
  readonly body?: object;
  readonly target: string | null;
  readonly outcome?: 'refused';
  readonly details?: object;
}

const created = (kind: 'machine' | 'workflow', body: object): Done => ({
  action: `${kind}.created`,
  request: `POST /${kind}s`,
  body,
  target: `{${kind}}`,
});
const changed = (action: AuditAction, path: string, body: object, target: string): Done => ({
  action,
  request: `PATCH ${path}`,
  body,
  target,
  details: { members: Object.keys(body) },
});
/** Nothing is deleted within a minute after it was archived. */
const deleted = (action: AuditAction, path: string, target: string): Done => ({
  action,
  request: `DELETE ${path}`,
  target,
  outcome: 'refused',
});

const MACHINE = {
  name: 'a',
  gpu: 'A10G',
  type: 'a',
  version: '1',
  runner: { kind: 'program', program: 'a' },
};
const archived = { archived: true };
const NOBODY = '0192e0c0-0000-7000-8000-00000000000c';
const TABLE: readonly Done[] = [
  created('machine', MACHINE),
  changed('machine.changed', '/machines/{machine}', { name: 'b' }, '{machine}'),
  created('workflow', { name: 'a' }),
  changed('workflow.changed', '/workflows/{workflow}', { name: 'b' }, '{workflow}'),
  {
    action: 'workflow_version.created',
    request: 'POST /workflows/{workflow}/versions',
    body: { workflow: { prompt: 'not in any record' } },
    target: '{workflow_version}',
  },
  {
    action: 'deployment.created',
    request: 'POST /deployments',
    body: { name: 'a', machine_id: '{machine}', workflow_version_id: '{workflow_version}' },
    target: '{deployment}',
  },
  {
    action: 'schedule.created',
    request: 'POST /schedules',
    body: { name: 'a', deployment_id: '{deployment}', cron: '@daily' },
    target: '{schedule}',
  },
  changed('schedule.changed', '/schedules/{schedule}', { paused: true }, '{schedule}'),
  { action: 'schedule.deleted', request: 'DELETE /schedules/{schedule}', target: '{schedule}' },
  changed('deployment.changed', '/deployments/{deployment}', archived, '{deployment}'),
  deleted('deployment.deleted', '/deployments/{deployment}', '{deployment}'),
  changed(
    'workflow_version.changed',
    '/workflows/{workflow}/versions/{workflow_version}',
    archived,
    '{workflow_version}',
  ),
  deleted(
    'workflow_version.deleted',
    '/workflows/{workflow}/versions/{workflow_version}',
    '{workflow_version}',
  ),
  deleted('workflow.deleted', '/workflows/{workflow}', '{workflow}'),
  deleted('machine.deleted', '/machines/{machine}', '{machine}'),
  { action: 'secret.read', request: 'GET /webhooks/secret', target: null },
  { action: 'secret.rotated', request: 'POST /webhooks/secret', target: null },
  {
    action: 'organisation_secret.set',
    request: 'PUT /secrets/A_TOKEN',
    body: { value: 'not in any record' },
    target: 'A_TOKEN',
  },
  { action: 'organisation_secret.removed', request: 'DELETE /secrets/A_TOKEN', target: 'A_TOKEN' },
  changed('retention.changed', '/retention', { runs_days: 30 }, ''),
  {
    action: 'key.created',
    request: 'POST /api-keys',
    body: { name: 'a', scopes: ['runs:read'] },
    target: '{key}',
    details: { scopes: ['runs:read'], user_id: expect.any(String), expires_at: null },
  },
  {
    action: 'key.revoked',
    request: 'DELETE /api-keys/{key}?keep_descendants=true',
    target: '{key}',
    details: { keep_descendants: true },
  },
  {
    action: 'invitation.created',
    request: 'POST /invitations',
    body: { email: 'not-in-any-record@example.com', role: 'viewer' },
    target: '{invitation}',
    details: { role: 'viewer', expires_at: expect.any(String), organisation_id: expect.any(String) },
  },
  { action: 'invitation.revoked', request: 'DELETE /invitations/{invitation}', target: '{invitation}' },
  {
    ...changed('member.changed', `/members/${NOBODY}`, { role: 'viewer' }, NOBODY),
    outcome: 'refused',
  },
  { action: 'member.removed', request: `DELETE /members/${NOBODY}`, target: NOBODY, outcome: 'refused' },
  {
    action: 'link.created',
    request: 'POST /accounts/links',
    body: { email: 'not-in-any-record@example.com' },
    target: null,
    outcome: 'refused',
  },
  {
    action: 'run.cancelled',
    request: 'POST /run/{run}/cancel',
    target: '{run}',
    details: { run_user_id: expect.any(String) },
  },
  {
    action: 'run.outputs_deleted',
    request: 'DELETE /run/{run}/outputs',
    target: '{run}',
  },
  { action: 'run.deleted', request: 'DELETE /run/{run}', target: '{run}' },
  {
    action: 'file.deleted',
    request: 'DELETE /files/0192e0c0-0000-7000-8000-00000000000a',
    target: '0192e0c0-0000-7000-8000-00000000000a',
    outcome: 'refused',
  },
  { action: 'executor.drained', request: 'POST /executors/east/drain', target: 'east' },
  { action: 'executor.resumed', request: 'POST /executors/east/resume', target: 'east' },
  {
    action: 'dead_letter.redriven',
    request: 'POST /dead-letters/999/redrive',
    target: '999',
    outcome: 'refused',
  },
  { action: 'dead_letter.removed', request: 'DELETE /dead-letters/999', target: '999', outcome: 'refused' },
  {
    action: 'sealed_values.resealed',
    request: 'POST /sealed-values/reseal',
    body: { sealing_key: secretBox([A_SECRET_KEY]).keyIds[0] },
    target: null,
    details: { sealing_key: secretBox([A_SECRET_KEY]).keyIds[0] },
  },
  {
    action: 'organisation.erased',
    request: 'DELETE /organisations/0192e0c0-0000-7000-8000-00000000000b?name=a',
    target: '0192e0c0-0000-7000-8000-00000000000b',
    outcome: 'refused',
  },
];

const filled = (text: string): string =>
  text.replaceAll(/\{(\w+)\}/g, (_all, name: string) => ids.get(name) ?? name);
const ofOperators = (action: string): boolean =>
  /^(dead_letter|executor|organisation|sealed_values)\./.test(action);

const send = async ({ action, request, body }: Done): Promise<string> => {
  const [method = '', path = ''] = filled(request).split(' ');
  const request_id = `test-${action}`;
  const { status, body: answer } = await call(
    `${trail.gateway.api}${path}`,
    ofOperators(action) || action === 'link.created' ? trail.operator : trail.admin,
    {
      method,
      headers: { 'x-request-id': request_id, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: filled(JSON.stringify(body)) }),
    },
  );
  const [kind = ''] = action.split('.');
  if (status === 201) ids.set(kind, answer.id);
  return request_id;
};

const operations = async (): Promise<{ id: string; method: string; action: string | undefined }[]> => {
  const { body } = await call(`${trail.gateway.api}/openapi.json`, null);
  return Object.values<Record<string, { operationId: string; description: string }>>(body.paths).flatMap(
    (methods) =>
      Object.entries(methods).map(([method, { operationId, description }]) => ({
        id: operationId,
        method,
        action: /audit records have the action `([a-z_.]+)`/.exec(description)?.[1],
      })),
  );
};

describe('an operation that changes something', () => {
  it('has audit records, or is one of those that have none', async () => {
    const changing = (await operations()).filter(({ method }) => method !== 'get');
    expect(
      changing
        .filter(({ action }) => action === undefined)
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(UNRECORDED.toSorted());
  });

  it('is in the table below, or nobody does it by the API', async () => {
    const recorded = (await operations()).flatMap(({ action }) => action ?? []);
    const tested = [...TABLE.map(({ action }) => action), 'runs.cancelled', 'runs.rerun', ...OF_PEOPLE];
    expect([...new Set(recorded)].toSorted()).toEqual(tested.toSorted());
    expect([...new Set([...recorded, ...WITHOUT_OPERATION])].toSorted()).toEqual(
      [...AuditAction.enum].toSorted(),
    );
  });

  it.each(TABLE)('is recorded before and after it is done: $action', async (done) => {
    const request_id = await send(done);
    const records = (await trail.read(trail.operator, `&action=${done.action}`)).filter(
      (record) => record.request_id === request_id,
    );
    const [kind] = done.action.split('.');
    const { target, outcome = 'done', details = {} } = done;
    const id = target === null || target === '' ? null : filled(target);
    const [completed, requested] = records;
    expect(records).toHaveLength(2);
    expect(completed).toMatchObject({
      stage: 'completed',
      outcome,
      action: done.action,
      org_id: ofOperators(done.action) ? null : trail.bed.tenant.org_id,
      actor: { kind: 'key', org_id: trail.bed.tenant.org_id, address: '127.0.0.1' },
      target: { kind, id },
    });
    expect(completed?.details ?? {}).toEqual(details);
    expect(requested).toMatchObject({ id: completed?.id, stage: 'requested', outcome: null });
    expect(Date.parse(requested?.time ?? '')).toBeLessThanOrEqual(Date.parse(completed?.time ?? ''));
  });

  it('leaves no secret and no content in its records', async () => {
    const text = JSON.stringify(await trail.read(trail.operator));
    expect(text).not.toMatch(/not.in.any.record/);
    expect(text).not.toMatch(/rl_|whsec_/);
  });
});

describe('running many runs again', () => {
  it('is recorded with its counts, and a dry run is not', async () => {
    const gateway = await trail.bed.gateway({ projecting: true });
    const { key } = trail.bed.tenant;
    const { run_id } = await queueSample(gateway, trail.bed.tenant, { gpu: 'T4' });
    await call(`${gateway.api}/run/${run_id}/cancel`, key, { method: 'POST' });
    for (const dry_run of [true, false]) {
      const { status } = await postKeyed(`${gateway.api}/runs/rerun`, key, 'a', {
        filter: { gpu: 'T4' },
        dry_run,
      });
      expect(status).toBe(200);
    }
    const records = await trail.read(trail.admin, '&action=runs.rerun');
    expect(records).toHaveLength(2);
    expect(records[0]).toMatchObject({
      outcome: 'done',
      details: { members: ['gpu'], matched: 1, queued: 1, already_queued: 0, refused: 0, stopped: null },
    });
  });
});

describe('a cancellation', () => {
  const cancelsOf = async (run_id: string): Promise<AuditEntry[]> =>
    trail.read(trail.admin, `&action=run.cancelled&target=${run_id}`);

  it('of a run of the own user leaves no record', async () => {
    const { run_id } = await queueSample(trail.gateway, trail.bed.tenant);
    const { status } = await call(`${trail.gateway.api}/run/${run_id}/cancel`, trail.bed.tenant.key, {
      method: 'POST',
    });
    expect([status, await cancelsOf(run_id)]).toEqual([200, []]);
  });

  it('by a filter is recorded with its counts, and a dry run is not', async () => {
    const gateway = await trail.bed.gateway({ projecting: true });
    const key = await aKey(trail.bed.log, trail.bed.tenant, { scopes: ['runs:write'] });
    await queueSample(gateway, trail.bed.tenant);
    const before = await trail.read(trail.admin, '&action=runs.cancelled');
    for (const dry_run of [true, false]) {
      const { status } = await call(`${gateway.api}/runs/cancel`, key, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ filter: { origin: 'api' }, dry_run }),
      });
      expect(status).toBe(200);
    }
    const records = await trail.read(trail.admin, '&action=runs.cancelled');
    expect(records.length - before.length).toBe(2);
    expect(records[0]).toMatchObject({
      outcome: 'done',
      details: { members: ['origin'], matched: 1, cancelled: 1, requested: 0, failed: 0 },
    });
  });
});
