import { randomBytes } from 'node:crypto';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { secretBox } from '@runledger/webhooks/secret-box';
import { signingSecrets } from '@runledger/webhooks/signing-secrets';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post } from '../../fixtures/requests/requests.ts';

const newKey = (): string => randomBytes(32).toString('base64');
const idOf = (key: string): string => secretBox([key]).keyIds[0] ?? '';

let bed: TestBed;
let key: string;
/** Of another test, so that each begins with values that its own old key sealed. */
let old: string;
let next: string;
beforeAll(async () => {
  bed = await openTestBed();
  key = await aKey(bed.log, bed.tenant, { scopes: ['runs:read', 'operator'] });
});
afterAll(() => bed[Symbol.asyncDispose]());
beforeEach(async () => {
  await bed.log.jsm.streams.purge('KV_WEBHOOK_SECRETS');
  [old, next] = [newKey(), newKey()];
});

const gatewayWith = (...keys: string[]) =>
  bed.gateway({ environment: { RUNLEDGER_SECRET_KEYS: keys.join(',') } });
const secretsWith = (...keys: string[]) =>
  signingSecrets(bed.log, secretBox(keys), { now: () => new Date() });
const sealMany = async (count: number, ...keys: string[]): Promise<Map<string, string>> => {
  const secrets = secretsWith(...keys);
  const made = Array.from({ length: count }, async (): Promise<[string, string]> => {
    const org = newUuid();
    return [org, (await secrets.current(orgId(org))).secret];
  });
  return new Map(await Promise.all(made));
};

const NOTHING = { current: 0, resealed: 0, old: 0, unreadable: 0 };
type Counts = typeof NOTHING;
const added = (one: Counts, other: Counts): Counts => ({
  current: one.current + other.current,
  resealed: one.resealed + other.resealed,
  old: one.old + other.old,
  unreadable: one.unreadable + other.unreadable,
});

/** All pages from a cursor on. */
const pages = async (
  get: (cursor: string | null) => ReturnType<typeof call>,
  cursor: string | null = null,
) => {
  let counts = NOTHING;
  const unreadable: { id: string; why: string }[] = [];
  let at = cursor;
  do {
    const { status, body } = await get(at);
    expect(status).toBe(200);
    const [ofPage] = body.counts;
    expect(ofPage.current + ofPage.resealed + ofPage.old + ofPage.unreadable).toBeLessThanOrEqual(100);
    counts = added(counts, ofPage);
    unreadable.push(...body.unreadable);
    at = body.next_cursor;
  } while (at !== null);
  return { counts, unreadable };
};
const check = (api: string) =>
  pages((cursor) => call(`${api}/sealed-values${cursor === null ? '' : `?cursor=${cursor}`}`, key));
const resealOnce = (api: string, cursor: string | null, sealing_key = idOf(next)) =>
  post(`${api}/sealed-values/reseal`, key, { sealing_key, cursor });
const reseal = (api: string, cursor: string | null = null) => pages((at) => resealOnce(api, at), cursor);

describe('the sealed values', () => {
  it('are none at first', async () => {
    const { api } = await gatewayWith(next);
    const { body } = await call(`${api}/sealed-values`, key);
    expect(body).toEqual({
      sealing_key: idOf(next),
      other_keys: [],
      counts: [
        { kind: 'webhook_secrets', ...NOTHING },
        { kind: 'organisation_secrets', ...NOTHING },
      ],
      unreadable: [],
      next_cursor: null,
    });
  });

  it('are all sealed again with the new key, which alone opens them then', async () => {
    const made = await sealMany(120, old);
    const { api } = await gatewayWith(next, old);
    expect((await check(api)).counts).toEqual({ ...NOTHING, old: 120 });
    expect((await reseal(api)).counts).toMatchObject({ resealed: 120, old: 0, unreadable: 0 });
    expect((await check(api)).counts).toEqual({ ...NOTHING, current: 120 });
    expect((await reseal(api)).counts).toEqual({ ...NOTHING, current: 120 });
    const alone = await gatewayWith(next);
    expect((await check(alone.api)).counts).toEqual({ ...NOTHING, current: 120 });
    for (const [org, secret] of made)
      expect((await secretsWith(next).current(orgId(org))).secret).toBe(secret);
  });

  it('are continued at another gateway, or from the start, and none is sealed twice', async () => {
    await sealMany(110, old);
    const [one, other] = [await gatewayWith(next, old), await gatewayWith(next, old)];
    const { body } = await resealOnce(one.api, null);
    expect(body.counts[0]).toMatchObject({ resealed: 100, current: 0 });
    expect((await check(other.api)).counts).toEqual({ ...NOTHING, current: 100, old: 10 });
    const [rest, again] = [await reseal(other.api, body.next_cursor), await reseal(one.api)];
    expect([rest.counts.resealed, again.counts.resealed]).toEqual([10, 0]);
    expect((await check(one.api)).counts).toEqual({ ...NOTHING, current: 110 });
  });

  it('keep what rotations store meanwhile, and are complete after it', async () => {
    const made = [...(await sealMany(120, old)).keys()];
    const { api } = await gatewayWith(next, old);
    const secrets = secretsWith(next, old);
    const rotated = new Map<string, string>();
    const rotate = async () => {
      for (const org of made.slice(60)) rotated.set(org, (await secrets.rotate(orgId(org))).secret);
    };
    await Promise.all([rotate(), reseal(api), reseal(api)]);
    expect((await check(api)).counts).toMatchObject({ old: 0, unreadable: 0 });
    for (const [org, secret] of rotated)
      expect((await secretsWith(next).current(orgId(org))).secret).toBe(secret);
  });

  it('that no key opens are named, and hold up no others', async () => {
    const [lost] = [...(await sealMany(1, newKey())).keys()];
    const damaged = newUuid();
    await bed.log.js.publish(`$KV.WEBHOOK_SECRETS.${damaged}`, '{"sealed": "whsec_text"}');
    await sealMany(20, old);
    const { api } = await gatewayWith(next, old);
    const { counts, unreadable } = await reseal(api);
    expect(counts).toMatchObject({ resealed: 20, unreadable: 2 });
    expect(unreadable).toEqual([
      {
        kind: 'webhook_secrets',
        id: lost,
        why: expect.stringContaining('Add the old key behind the current one'),
      },
      { kind: 'webhook_secrets', id: damaged, why: expect.not.stringContaining('whsec_text') },
    ]);
    expect((await check(api)).counts).toEqual({ ...NOTHING, current: 20, unreadable: 2 });
  });

  it('are not sealed by a gateway that seals with another key', async () => {
    await sealMany(3, old);
    const { api } = await gatewayWith(old, next);
    const { status, body } = await resealOnce(api, null);
    expect(body.code).toBe('sealing_key_differs');
    expect([status, body.detail]).toEqual([
      409,
      expect.stringMatching(
        new RegExp(`seals with the key ${idOf(old)}, not with ${idOf(next)}\\. Put the same key`),
      ),
    ]);
    expect((await check(api)).counts).toEqual({ ...NOTHING, current: 3 });
  });

  it('are for operators only, and refuse a cursor or a key that is none', async () => {
    const { api } = await gatewayWith(next);
    const admin = await aKey(bed.log, bed.tenant, { scopes: ['admin'] });
    const url = `${api}/sealed-values`;
    for (const answer of [
      await call(url, admin),
      await post(`${url}/reseal`, admin, { sealing_key: idOf(next) }),
    ])
      expect([answer.status, answer.body.detail]).toEqual([403, 'This API key lacks the scope operator']);
    const wrong = await call(`${url}?cursor=x`, key);
    expect([wrong.status, wrong.body.detail[0].loc]).toEqual([422, ['query', 'cursor']]);
    const unnamed = await post(`${url}/reseal`, key, { sealing_key: next, cursor: 'x' });
    expect(unnamed.body.detail.map(({ loc }: { loc: string[] }) => loc.join('.'))).toEqual([
      'body.sealing_key',
      'body.cursor',
    ]);
  });
});
