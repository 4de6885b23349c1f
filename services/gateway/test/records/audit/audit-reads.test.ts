import { AuditAction } from '@runledger/contracts/audit-actions';
import type { AuditRecord } from '@runledger/contracts/audit-record';
import { newUuid } from '@runledger/contracts/ids';
import { storeAuditRecord } from '@runledger/event-log/streams/audit-records';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { aTrail, type ATrail } from './a-trail.ts';

let trail: ATrail;
beforeAll(async () => {
  trail = await aTrail();
});
afterAll(() => trail[Symbol.asyncDispose]());

const aRecord = (org_id: string | null, changes: Partial<AuditRecord> = {}): AuditRecord => ({
  version: 1,
  id: newUuid(),
  stage: 'completed',
  action: 'machine.created',
  org_id,
  actor: { kind: 'operator' },
  target: { kind: 'machine', id: newUuid() },
  outcome: 'done',
  request_id: null,
  ...changes,
});
const storeMany = (count: number, org_id: string): Promise<AuditRecord[]> =>
  Promise.all(
    Array.from({ length: count }, async (_none, at) => {
      // They are in two streams.
      const record = aRecord(org_id, at % 3 === 0 ? { action: 'member.added' } : {});
      await storeAuditRecord(trail.bed.log, record);
      return record;
    }),
  );
const idsOf = (records: readonly { readonly id: string }[]): string[] =>
  records.map(({ id }) => id).toSorted();

describe('who sees a record', () => {
  it('an admin those of their organisation, an operator all, and nobody else any', async () => {
    const other = await trail.bed.newTenant();
    const otherAdmin = await aKey(trail.bed.log, other, { scopes: ['admin'] });
    await storeAuditRecord(trail.bed.log, aRecord(null, { action: 'executor.drained' }));
    const { status } = await post(`${trail.gateway.api}/workflows`, otherAdmin, { name: 'theirs' });
    expect(status).toBe(201);
    const ofOther = await trail.read(otherAdmin);
    expect(ofOther.map(({ org_id }) => org_id)).toEqual([other.org_id, other.org_id]);
    const all = idsOf(await trail.read(trail.operator));
    expect(all).toEqual(expect.arrayContaining(idsOf(ofOther)));
    const own = await trail.read(trail.admin);
    expect(new Set(own.map(({ org_id }) => org_id))).not.toContain(other.org_id);
    expect(await trail.read(trail.operator, '&action=executor.drained')).toMatchObject([{ org_id: null }]);
    expect(await trail.read(trail.admin, '&action=executor.drained')).toEqual([]);
    expect(await trail.read(trail.operator, `&organisation=${other.org_id}`)).toEqual(ofOther);
    for (const path of ['/audit', '/audit/export']) {
      const foreign = await call(`${trail.gateway.api}${path}?organisation=${other.org_id}`, trail.admin);
      expect([foreign.status, foreign.body.detail]).toEqual([403, expect.stringContaining('scope operator')]);
      const { status: lacking } = await call(`${trail.gateway.api}${path}`, trail.bed.tenant.key);
      expect(lacking).toBe(403);
    }
  });
});

describe('the filters', () => {
  it('select by key, user, target, action and time', async () => {
    const user_id = newUuid();
    const key = await aKey(trail.bed.log, trail.bed.tenant, { scopes: ['admin'], user_id });
    const created = await post(`${trail.gateway.api}/workflows`, key, { name: 'a' });
    const [first] = await trail.read(trail.admin, `&user_id=${user_id}`);
    expect(first).toMatchObject({ action: 'workflow.created', target: { id: created.body.id } });
    const [key_id, time] = [first?.actor.kind === 'key' ? first.actor.key_id : '', first?.time ?? ''];
    expect(idsOf(await trail.read(trail.admin, `&key_id=${key_id}`))).toEqual([first?.id, first?.id]);
    expect(await trail.read(trail.admin, `&target=${created.body.id}`)).toEqual([first]);
    expect(await trail.read(trail.admin, `&target=${created.body.id}&until=${time}`)).toEqual([]);
    expect(await trail.read(trail.admin, `&target=${created.body.id}&since=${time}`)).toEqual([first]);
    expect(await trail.read(trail.admin, '&since=2999-01-01')).toEqual([]);
    expect(
      await trail.read(trail.admin, `&target=${created.body.id}&since=0001-01-01&until=2999-01-01`),
    ).toEqual([first]);
    expect(await trail.read(trail.admin, '&until=0001-01-01')).toEqual([]);
    for (const wrong of ['action=any', 'cursor=x', 'since=yesterday', 'limit=0']) {
      const { status } = await call(`${trail.gateway.api}/audit?${wrong}`, trail.admin);
      expect([wrong, status]).toEqual([wrong, 422]);
    }
  });
});

describe('the pages', () => {
  it('have each record once that was stored before the first one, while more are stored', async () => {
    const tenant = await trail.bed.newTenant();
    const key = await aKey(trail.bed.log, tenant, { scopes: ['admin'] });
    const before = await storeMany(300, tenant.org_id);
    const reading = trail.read(key);
    await Promise.all(Array.from({ length: 5 }, () => storeMany(40, tenant.org_id)));
    const read = idsOf(await reading);
    expect(new Set(read).size).toBe(read.length);
    expect(read).toEqual(expect.arrayContaining(idsOf(before)));
  });
});

describe('GET /audit/export', () => {
  it('gives thousands of records as JSON lines, as the list shows them', { timeout: 20_000 }, async () => {
    const tenant = await trail.bed.newTenant();
    const key = await aKey(trail.bed.log, tenant, { scopes: ['admin'] });
    for (let batch = 0; batch < 6; batch += 1) await storeMany(500, tenant.org_id);
    const response = await fetch(`${trail.gateway.api}/audit/export`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    const text = await response.text();
    expect(text.endsWith('\n')).toBe(true);
    const lines = text.trimEnd().split('\n');
    expect(lines).toHaveLength(3_000);
    const { body } = await call(`${trail.gateway.api}/audit?limit=100`, key);
    expect(lines.slice(0, 100).map((line): unknown => JSON.parse(line))).toEqual(body.records);
    const none = await call(`${trail.gateway.api}/audit/export?until=2000-01-01`, key);
    expect([none.status, none.body]).toEqual([200, '']);
  });

  it.each([...AuditAction.enum].slice(0, 3))('filters by action: %s', async (action) => {
    await storeAuditRecord(trail.bed.log, aRecord(trail.bed.tenant.org_id, { action }));
    const { body } = await call(`${trail.gateway.api}/audit/export?action=${action}`, trail.admin);
    const actions = body
      .trimEnd()
      .split('\n')
      .map((line: string) => JSON.parse(line).action);
    expect(new Set(actions)).toEqual(new Set([action]));
  });
});
