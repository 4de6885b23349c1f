import type { AuditEntry } from '@runledger/contracts/http/audit';
import { newUuid } from '@runledger/contracts/ids';
import { storeAuditRecord } from '@runledger/event-log/streams/audit-records';
import { describe, expect, it } from 'vitest';
import { aBrowser, aMember, anEmail, PASSWORD } from '../../fixtures/accounts/a-browser.ts';
import {
  accept,
  anOrganisation,
  invite,
  type Organisation,
} from '../../fixtures/accounts/an-organisation.ts';
import { call, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { aTrail, type ATrail } from './a-trail.ts';

/** Rings of 10 records. */
const SMALL_WORK = { auditMaxBytes: 512 * 1024 };
/** Rings of 16 records: 8 at any speed. */
const SMALL_RIGHTS = { auditRightsMaxBytes: 16 * 128 * 6 * 1024 };

const times = async (count: number, work: () => Promise<unknown>): Promise<void> => {
  for (let left = count; left > 0; left -= 1) await work();
};

const signIn = async ({ gateway }: ATrail, email: string): Promise<number> =>
  (await aBrowser(gateway.api).send('POST', '/session', { email, password: PASSWORD })).status;

/** Everything that an organisation needs a record for: sign-in, keys, members, schedules. */
const expectAllToWork = async (trail: ATrail, { org_id, owner, deployment }: Organisation): Promise<void> => {
  const person = await aMember(trail.bed.log, org_id, 'viewer', { hasPassword: true });
  expect(await signIn(trail, person.email)).toBe(200);
  const made = await owner.send('POST', '/api-keys', { name: 'a' });
  expect(made.status).toBe(201);
  const { token } = await invite(owner, anEmail());
  expect((await accept(aBrowser(trail.gateway.api), token)).status).toBe(200);
  expect((await owner.send('PATCH', `/members/${person.id}`, { role: 'developer' })).status).toBe(200);
  const schedule = { name: 'a', deployment_id: deployment.id, cron: '@daily' };
  expect((await owner.send('POST', '/schedules', schedule)).status).toBe(201);
  expect((await owner.send('POST', '/webhooks/secret')).status).toBe(200);
  expect((await owner.send('DELETE', `/api-keys/${made.body.id}`)).status).toBe(204);
};

const actionsOf = (records: readonly AuditEntry[]): string[] =>
  records.filter(({ outcome }) => outcome === 'done').map(({ action }) => action);

const listed = async (trail: ATrail, org_id: string, query = ''): Promise<ApiAnswer['body']> =>
  (await call(`${trail.gateway.api}/audit?limit=100&organisation=${org_id}${query}`, trail.operator)).body;

describe('an organisation that deletes without end', () => {
  it(
    'is told that its oldest records of work have left, and loses no other record and no right',
    { timeout: 60_000 },
    async () => {
      await using trail = await aTrail(SMALL_WORK);
      const organisation = await anOrganisation(trail.bed, trail.gateway, { operator: true });
      const { org_id, owner } = organisation;
      const { body: first } = await owner.send('POST', '/api-keys', { name: 'before the flood' });
      expect((await listed(trail, org_id)).left).toEqual([]);
      await times(30, () => owner.send('DELETE', `/run/${newUuid()}`));
      await expectAllToWork(trail, organisation);
      const { records, left } = await listed(trail, org_id);
      const ofWork = records.filter(({ action }: AuditEntry) => /^(run|schedule)\./.test(action));
      expect(ofWork).toHaveLength(10);
      expect(left).toContainEqual({ ring: 'work', before: ofWork.at(-1).time });
      expect(left.map(({ ring }: { ring: string }) => ring)).not.toContain('given');
      const [made] = await trail.read(trail.operator, `&organisation=${org_id}&target=${first.id}`);
      expect(made).toMatchObject({ action: 'key.created', outcome: 'done' });
      expect((await call(`${trail.gateway.api}/audit`, trail.operator)).body.left).toBeNull();
    },
  );
});

describe('a hundred organisations that fill the audit streams', () => {
  it(
    'refuse another one nothing, and make none of its records about rights leave',
    { timeout: 60_000 },
    async () => {
      await using trail = await aTrail({ auditMaxBytes: 200 * 1024, ...SMALL_RIGHTS });
      const { bed, gateway } = trail;
      const victim = await anOrganisation(bed, gateway, { operator: true });
      const { body: key } = await victim.owner.send('POST', '/api-keys', { name: 'the oldest' });
      for (let count = 0; count < 100; count += 1) await fillRings(trail, newUuid());
      const { state, config } = await bed.log.jsm.streams.info('AUDIT');
      expect(state.bytes).toBeGreaterThan(0.95 * config.max_bytes);
      await expectAllToWork(trail, victim);
      const found = await trail.read(trail.operator, `&organisation=${victim.org_id}&target=${key.id}`);
      expect(actionsOf(found)).toEqual(['key.created']);
      // What is shared by all is full, and the reader is told.
      expect((await listed(trail, victim.org_id)).left).toContainEqual({
        ring: 'work',
        before: expect.any(String),
      });
    },
  );
});

/** As many records of each kind as fit, and one more. */
const fillRings = async ({ bed: { log } }: ATrail, org_id: string): Promise<void> => {
  const actions = [
    'key.created',
    'key.revoked',
    'password.changed',
    'secret.read',
    'member.added',
    'session.created',
    'run.deleted',
  ] as const;
  await Promise.all(
    actions.flatMap((action) =>
      Array.from({ length: 17 }, () =>
        storeAuditRecord(log, {
          version: 1,
          id: newUuid(),
          stage: 'completed',
          action,
          org_id,
          actor: { kind: 'unknown', network: 'a test' },
          target: { kind: 'key', id: 'x'.repeat(256) },
          outcome: 'done',
          request_id: 'x'.repeat(128),
        }),
      ),
    ),
  );
};

describe('whoever gives rights without end', () => {
  it(
    'waits, and keeps nobody from signing in, accepting, choosing passwords and taking rights',
    { timeout: 60_000 },
    async () => {
      await using trail = await aTrail(SMALL_RIGHTS);
      const { bed, gateway } = trail;
      const { org_id, owner } = await anOrganisation(bed, gateway, { operator: true });
      const person = await aMember(bed.log, org_id, 'viewer', { hasPassword: true });
      const { body: first } = await owner.send('POST', '/api-keys', { name: 'the first' });
      const { token } = await invite(owner, anEmail());
      await times(6, () => owner.send('POST', '/api-keys', { name: 'a' }));
      const refused = await owner.send('POST', '/api-keys', { name: 'a' });
      expect([refused.status, refused.body.code]).toEqual([429, 'rights_changed_too_often']);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_600);
      await expectReserveUsed(trail, 1);

      expect(await signIn(trail, person.email)).toBe(200);
      expect((await accept(aBrowser(gateway.api), token)).status).toBe(200);
      expect((await owner.send('GET', '/webhooks/secret')).status).toBe(200);
      expect((await owner.send('DELETE', `/api-keys/${first.id}`)).status).toBe(204);
      expect((await owner.send('DELETE', `/members/${person.id}`)).status).toBe(204);
      const other = await anOrganisation(bed, gateway);
      expect((await other.owner.send('POST', '/api-keys', { name: 'a' })).status).toBe(201);
      const found = await trail.read(trail.operator, `&organisation=${org_id}&target=${first.id}`);
      expect(actionsOf(found)).toEqual(['key.revoked', 'key.created']);
    },
  );

  it('does not get past the reserve at two gateways at once', { timeout: 60_000 }, async () => {
    await using trail = await aTrail(SMALL_RIGHTS);
    const { bed, gateway } = trail;
    const { owner, ...tenant } = await anOrganisation(bed, gateway);
    const second = await bed.gateway();
    let total = 0;
    const make = async (api: string): Promise<void> => {
      const { status } = await aBrowser(api, owner.session()).send('POST', '/api-keys', { name: 'a' });
      if (status === 201) total += 1;
    };
    await times(12, async () => {
      await Promise.all([gateway, second].flatMap(({ api }) => Array.from({ length: 5 }, () => make(api))));
    });
    // Half of the ring, and what both began at the same moment; never more than it keeps.
    expect(total).toBeGreaterThanOrEqual(8);
    expect(total).toBeLessThanOrEqual(16);
    const records = await trail.read(trail.operator, `&organisation=${tenant.org_id}&action=key.created`);
    expect(records.filter(({ outcome }) => outcome === 'done')).toHaveLength(total);
  });
});

describe('whoever hides what they did to rights behind a flood', () => {
  it('of sign-ins, and of requests that are refused, hides nothing', { timeout: 60_000 }, async () => {
    await using trail = await aTrail({ ...SMALL_RIGHTS, ...SMALL_WORK });
    const { bed, gateway } = trail;
    const { org_id, owner } = await anOrganisation(bed, gateway);
    const person = await aMember(bed.log, org_id, 'owner');
    const { body: key } = await owner.send('POST', '/api-keys', { name: 'rogue' });
    expect((await owner.send('DELETE', `/members/${person.id}`)).status).toBe(204);
    await times(20, async () => {
      await owner.send('DELETE', `/api-keys/${newUuid()}`);
      await owner.send('DELETE', `/members/${newUuid()}`);
      await owner.send('PATCH', `/members/${newUuid()}`, { role: 'viewer' });
      await anOrganisationsSignIn(trail, org_id);
    });
    for (const [target, action] of [
      [key.id, 'key.created'],
      [person.id, 'member.removed'],
    ]) {
      const found = await trail.read(trail.operator, `&organisation=${org_id}&target=${target}`);
      expect(actionsOf(found)).toEqual([action]);
    }
    const { left } = await listed(trail, org_id);
    expect(left.map(({ ring }: { ring: string }) => ring).toSorted()).toEqual(['requests', 'sign_ins']);
  });
});

/** A sign-in without the time that a password takes. */
const anOrganisationsSignIn = async ({ bed: { log } }: ATrail, org_id: string): Promise<void> =>
  storeAuditRecord(log, {
    version: 1,
    id: newUuid(),
    stage: 'completed',
    action: 'session.created',
    org_id,
    actor: { kind: 'unknown', network: 'a test' },
    target: { kind: 'session', id: newUuid() },
    outcome: 'done',
    request_id: null,
  });

const expectReserveUsed = async ({ gateway }: ATrail, used: number): Promise<void> => {
  const text = await gateway.metrics.metrics();
  const value = (name: string): number =>
    Number(new RegExp(`^runledger_gateway_${name}\\S* ([\\d.]+)$`, 'm').exec(text)?.[1]);
  expect(value('audit_reserve_used_ratio')).toBe(used);
  expect(value('audit_rights_bytes')).toBeGreaterThan(0);
  expect(value('audit_rights_limit_bytes')).toBe(SMALL_RIGHTS.auditRightsMaxBytes);
  expect(value('audit_limit_bytes')).toBe(256 * 1024 ** 2);
};
