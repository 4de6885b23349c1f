import { randomBytes } from 'node:crypto';
import { newUuid, orgId, type OrgId } from '@runledger/contracts/ids';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  sealedSigningSecrets,
  type SealedRecords,
  signingSecrets,
  type SigningSecrets,
} from '../src/signing-secrets.ts';
import { secretBox } from '../src/secret-box.ts';

const aKey = (): string => randomBytes(32).toString('base64');
const anOrg = (): OrgId => orgId(newUuid());
const [old, next] = [aKey(), aKey()];
const start = Date.parse('2026-03-01T00:00:00Z');
const at = (ms: number) => (): Date => new Date(start + ms);

const opened = new AsyncDisposableStack();
let log: EventLog;
beforeAll(async () => {
  const { login } = opened.use(await testAccount());
  log = opened.use(await openEventLog({ ...login, name: 'test' }, silentLogger));
  await provision(log);
});
afterAll(() => opened.disposeAsync());

const secretsWith = (keys: readonly string[], now = at(0)): SigningSecrets =>
  signingSecrets(log, secretBox(keys), { now });
const sealedWith = (keys: readonly string[], now = at(0)): SealedRecords =>
  sealedSigningSecrets(log, secretBox(keys), now);
const store = (key: string, text: string) => log.js.publish(`$KV.WEBHOOK_SECRETS.${key}`, text);

describe('a sealed signing secret', () => {
  it('is old while any part of it was sealed with an older key, and current once it is sealed again', async () => {
    const org = anOrg();
    const first = await secretsWith([old]).current(org);
    const sealed = sealedWith([next, old]);
    expect(await sealed.inspect(org)).toEqual({ kind: 'old' });
    const rotated = await secretsWith([next, old]).rotate(org);
    expect(await sealed.inspect(org)).toEqual({ kind: 'current' });
    expect(await sealed.reseal(org)).toEqual({ kind: 'current' });
    expect(await secretsWith([next]).valid(org)).toEqual([rotated.secret, first.secret]);
  });

  it('loses nothing when it is sealed again, except a previous secret that has expired', async () => {
    const org = anOrg();
    await secretsWith([old]).current(org);
    const rotated = await secretsWith([old]).rotate(org, { overlap_s: 60 });
    expect(await sealedWith([next, old]).reseal(org)).toEqual({ kind: 'resealed' });
    expect(await secretsWith([next]).current(org)).toEqual(rotated);
    expect(await sealedWith([old, next], at(60_000)).reseal(org)).toEqual({ kind: 'resealed' });
    expect(await secretsWith([old]).current(org)).toEqual({ ...rotated, previous: null });
  });

  it('is sealed again although its expired previous one cannot be opened', async () => {
    const org = anOrg();
    const lost = aKey();
    await secretsWith([lost]).current(org);
    const { secret } = await secretsWith([old, lost]).rotate(org, { overlap_s: 60 });
    const stored = await log.jsm.streams.getMessage('KV_WEBHOOK_SECRETS', {
      last_by_subj: `$KV.WEBHOOK_SECRETS.${org}`,
    });
    const record = JSON.parse(stored?.string() ?? '');
    const sealedByLost = secretBox([lost]).seal('text', org);
    await store(org, JSON.stringify({ ...record, previous: { ...record.previous, sealed: sealedByLost } }));
    expect(await sealedWith([next, old]).reseal(org)).toMatchObject({ kind: 'unreadable' });
    expect(await sealedWith([next, old], at(60_000)).reseal(org)).toEqual({ kind: 'resealed' });
    expect((await secretsWith([next]).current(org)).secret).toBe(secret);
  });

  it('keeps what a rotation stores while it is sealed again', async () => {
    for (let round = 0; round < 10; round += 1) {
      const org = anOrg();
      await secretsWith([old]).current(org);
      const [rotated] = await Promise.all([
        secretsWith([next, old]).rotate(org),
        sealedWith([next, old]).reseal(org),
      ]);
      expect(await secretsWith([next]).current(org)).toEqual(rotated);
    }
  });

  it('that cannot be opened stays as it is, with a reason that holds no secret', async () => {
    const [lost, moved, damaged] = [anOrg(), anOrg(), anOrg()];
    await secretsWith([aKey()]).current(lost);
    const sealed = sealedWith([next, old]);
    await store(
      moved,
      JSON.stringify({ sealed: secretBox([old]).seal('text', lost), created_at: '', previous: null }),
    );
    await store(damaged, '{"sealed": 1}');
    await store('elsewhere', JSON.stringify({ sealed: '', created_at: '', previous: null }));
    const whys = {
      [lost]: /Add the old key/,
      [moved]: /another organisation/,
      [damaged]: /schema/,
      elsewhere: /no/,
    };
    for (const [key, why] of Object.entries(whys))
      for (const state of [await sealed.inspect(key), await sealed.reseal(key)])
        expect(state).toEqual({ kind: 'unreadable', why: expect.stringMatching(why) });
    expect(await sealed.inspect(newUuid())).toEqual({ kind: 'gone' });
  });
});
