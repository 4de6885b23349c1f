import { AUDIT_STREAMS } from '@runledger/contracts/audit-actions';
import { newUuid } from '@runledger/contracts/ids';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import pLimit from 'p-limit';
import { describe, expect, it } from 'vitest';
import { refusedCredentials } from '../../../src/records/audit/audit.ts';
import { networkOf } from '../../../src/records/audit/record-operation.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { aTrail } from './a-trail.ts';
import { aKit } from '../../fixtures/gateway/a-kit.ts';

const timesOf = (records: readonly { details?: Record<string, unknown> }[]): number =>
  records.reduce((sum, { details }) => sum + Number(details?.['times']), 0);

describe('refused credentials', () => {
  it('hundreds of them leave few records, with their number', async () => {
    await using trail = await aTrail();
    const other = await trail.bed.gateway();
    const limit = pLimit(8);
    const all = Array.from({ length: 400 }, (_none, at) => (at % 10 === 0 ? `rl_${newUuid()}` : 'short'));
    const statuses = await limit.map(all, async (key) => (await call(`${other.api}/runs`, key)).status);
    expect(new Set(statuses)).toEqual(new Set([401]));
    // A gateway stores what it has counted when it stops, and once a minute.
    await other[Symbol.asyncDispose]();
    const records = await trail.read(trail.operator, '&action=credential.refused');
    expect(records.length).toBeLessThanOrEqual(3);
    expect(timesOf(records)).toBe(400);
    expect(records[0]).toMatchObject({
      org_id: null,
      stage: 'completed',
      outcome: 'refused',
      actor: { kind: 'unknown', network: '127.0.0.0/24' },
      details: { why: 'invalid' },
    });
    expect(JSON.stringify(records)).not.toContain('short');
  });

  it('of a key that lacks the scope are shown to its organisation', async () => {
    await using trail = await aTrail();
    const other = await trail.bed.gateway();
    const key = await aKey(trail.bed.log, trail.bed.tenant, { scopes: ['runs:read'] });
    for (let times = 0; times < 3; times += 1)
      expect((await call(`${other.api}/audit`, key)).status).toBe(403);
    await other[Symbol.asyncDispose]();
    expect(await trail.read(trail.admin, '&action=credential.refused')).toMatchObject([
      { org_id: trail.bed.tenant.org_id, actor: { kind: 'key' }, details: { why: 'lacks_scope', times: 3 } },
    ]);
  });

  it('10,000 of many networks leave 17 records, and are kept until they can be stored', async () => {
    const stored: { readonly details?: Record<string, unknown> }[] = [];
    let isAway = true;
    await using refused = refusedCredentials(aKit(), async (record) => {
      if (isAway) throw new LogUnavailable('away');
      stored.push(record);
    });
    const countAll = (): void => {
      for (let network = 0; network < 5_000; network += 1)
        refused.count({ why: 'invalid', address: `10.${Math.floor(network / 256)}.${network % 256}.1` });
    };
    countAll();
    await refused.flush();
    isAway = false;
    countAll();
    await refused.flush();
    expect([stored.length, timesOf(stored)]).toEqual([17, 10_000]);
    await refused.flush();
    expect(stored).toHaveLength(17);
  });

  it.each([
    ['192.0.2.77', '192.0.2.0/24'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    [undefined, 'unknown'],
  ])('of %s are counted with those of %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});

describe('an action whose record cannot be stored', () => {
  it(
    'is refused if it gives something, and done if it takes something away',
    { timeout: 30_000 },
    async () => {
      await using trail = await aTrail();
      const { api } = trail.gateway;
      const { body: made } = await post(`${api}/api-keys`, trail.admin, { name: 'a' });
      for (const stream of AUDIT_STREAMS) await trail.bed.log.jsm.streams.delete(stream);
      for (const [path, body] of [
        ['/workflows', { name: 'a' }],
        ['/api-keys', { name: 'a' }],
      ] as const) {
        const answer = await post(`${api}${path}`, trail.admin, body);
        expect([answer.status, answer.body]).toMatchObject([
          503,
          { detail: expect.stringMatching(/audit record.*nothing was done/), code: 'audit_not_stored' },
        ]);
      }
      const { status } = await call(`${api}/api-keys/${made.id}`, trail.admin, { method: 'DELETE' });
      expect(status).toBe(204);
    },
  );
});
