import { randomBytes } from 'node:crypto';
import { newUuid, orgId, type OrgId } from '@runledger/contracts/ids';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { Webhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { secretBox, UnreadableSecret } from '../src/secret-box.ts';
import { signedHeaders } from '../src/signature.ts';
import { sealedSigningSecrets, signingSecrets, type SigningSecrets } from '../src/signing-secrets.ts';

const aKey = (): string => randomBytes(32).toString('base64');
const anOrg = (): OrgId => orgId(newUuid());
const HOUR_MS = 3_600_000;

const aClock = () => {
  let at = Date.parse('2026-03-01T00:00:00Z');
  return {
    now: () => new Date(at),
    pass: (ms: number) => {
      at += ms;
    },
  };
};

const key = aKey();
const opened = new AsyncDisposableStack();
let log: EventLog;
beforeAll(async () => {
  const { login } = opened.use(await testAccount());
  log = opened.use(await openEventLog({ ...login, name: 'test' }, silentLogger));
  await provision(log);
});
afterAll(() => opened.disposeAsync());

const secrets = (clock = aClock(), keys: readonly string[] = [key]): SigningSecrets =>
  signingSecrets(log, secretBox(keys), { now: clock.now });

const storedText = async (org: OrgId): Promise<string> => {
  const message = await log.jsm.streams.getMessage('KV_WEBHOOK_SECRETS', {
    last_by_subj: `$KV.WEBHOOK_SECRETS.${org}`,
  });
  return message?.string() ?? '';
};

describe('the first secret of an organisation', () => {
  it('is made on the first request, and stays', async () => {
    const org = anOrg();
    const made = await secrets().current(org);
    expect(made).toEqual({
      secret: expect.stringMatching(/^whsec_/),
      created_at: '2026-03-01T00:00:00.000Z',
      previous: null,
    });
    expect(await secrets().current(org)).toEqual(made);
    expect(await secrets().valid(org)).toEqual([made.secret]);
  });

  it('is the same for twenty concurrent callers', async () => {
    const org = anOrg();
    const asked = Array.from({ length: 20 }, (_, n) =>
      n % 2 === 0
        ? secrets().valid(org)
        : secrets()
            .current(org)
            .then(({ secret }) => [secret]),
    );
    const answers = (await Promise.all(asked)).flat();
    expect(answers).toHaveLength(20);
    expect(new Set(answers).size).toBe(1);
  });

  it('comes from the given source', async () => {
    const org = anOrg();
    const chosen = `whsec_${randomBytes(24).toString('base64')}`;
    const signing = signingSecrets(log, secretBox([key]), { now: aClock().now, newSecret: () => chosen });
    expect(await signing.valid(org)).toEqual([chosen]);
  });

  it('differs between organisations', async () => {
    const [one, two] = await Promise.all([secrets().current(anOrg()), secrets().current(anOrg())]);
    expect(one.secret).not.toBe(two.secret);
  });
});

describe('a rotation', () => {
  const body = Buffer.from('{"run":1}');
  const verified = async (signing: SigningSecrets, org: OrgId, secret: string): Promise<boolean> => {
    const headers = {
      ...signedHeaders({ id: 'msg_1', at: new Date(), body, secrets: await signing.valid(org) }),
    };
    const accepts = [new Webhook(secret), new SvixWebhook(secret)].map((receiver) => {
      try {
        receiver.verify(body, headers);
        return true;
      } catch {
        return false;
      }
    });
    expect(new Set(accepts).size).toBe(1);
    return accepts.includes(true);
  };

  it('lets receivers verify with the old secret until the overlap ends, and with the new one afterwards', async () => {
    const org = anOrg();
    const clock = aClock();
    const signing = secrets(clock);
    const old = (await signing.current(org)).secret;
    expect(await verified(signing, org, old)).toBe(true);

    const rotated = await signing.rotate(org, { overlap_s: 3_600 });
    expect(rotated.secret).not.toBe(old);
    expect(rotated.previous).toEqual({ secret: old, expires_at: '2026-03-01T01:00:00.000Z' });
    expect(await signing.current(org)).toEqual(rotated);
    expect(await signing.valid(org)).toEqual([rotated.secret, old]);
    expect(await verified(signing, org, old)).toBe(true);
    expect(await verified(signing, org, rotated.secret)).toBe(true);

    clock.pass(HOUR_MS - 1);
    expect(await verified(signing, org, old)).toBe(true);
    clock.pass(1);
    expect(await verified(signing, org, old)).toBe(false);
    expect(await verified(signing, org, rotated.secret)).toBe(true);
    expect((await signing.current(org)).previous).toBeNull();
  });

  it('overlaps for 24 hours by default', async () => {
    const org = anOrg();
    await secrets().current(org);
    expect((await secrets().rotate(org)).previous?.expires_at).toBe('2026-03-02T00:00:00.000Z');
  });

  it('drops the old secret at once with an overlap of 0', async () => {
    const org = anOrg();
    const signing = secrets();
    const old = (await signing.valid(org))[0];
    const { secret, previous } = await signing.rotate(org, { overlap_s: 0 });
    expect(previous).toBeNull();
    expect(secret).not.toBe(old);
    expect(await signing.valid(org)).toEqual([secret]);
  });

  it('drops the oldest secret if it is repeated during an overlap', async () => {
    const org = anOrg();
    const signing = secrets();
    await signing.current(org);
    const second = await signing.rotate(org);
    const third = await signing.rotate(org);
    expect(await signing.valid(org)).toEqual([third.secret, second.secret]);
  });

  it('makes the first secret if there is none', async () => {
    const org = anOrg();
    const { secret, previous } = await secrets().rotate(org);
    expect(previous).toBeNull();
    expect(await secrets().valid(org)).toEqual([secret]);
  });

  it('is not lost among many concurrent rotations', async () => {
    const org = anOrg();
    await secrets().current(org);
    const rotated = await Promise.all(Array.from({ length: 8 }, () => secrets().rotate(org)));
    const last = await secrets().current(org);
    expect(rotated).toContainEqual(last);
    expect(rotated.map(({ secret }) => secret)).toContain(last.previous?.secret);
  });

  it.each([-1, 604_801, Number.NaN, Number.POSITIVE_INFINITY])(
    'rejects an overlap of %d seconds',
    async (overlap_s) => {
      await expect(secrets().rotate(anOrg(), { overlap_s })).rejects.toThrow(RangeError);
      await expect(secrets().rotate(anOrg(), { overlap_s })).rejects.toThrow('7 days');
    },
  );
});

describe('the cached secret of a notifier', () => {
  it('is five seconds old at most', async () => {
    const org = anOrg();
    const clock = aClock();
    const notifier = secrets(clock);
    const before = await notifier.valid(org);
    const { secret } = await secrets(clock).rotate(org, { overlap_s: 0 });
    clock.pass(4_999);
    expect(await notifier.valid(org)).toEqual(before);
    clock.pass(1);
    expect(await notifier.valid(org)).toEqual([secret]);
  });

  it('is read again after the clock was set back', async () => {
    const org = anOrg();
    const clock = aClock();
    const notifier = secrets(clock);
    await notifier.valid(org);
    const { secret } = await secrets(clock).rotate(org, { overlap_s: 0 });
    clock.pass(-1);
    expect(await notifier.valid(org)).toEqual([secret]);
  });
});

describe('a stored secret', () => {
  it('holds no plain text of the secret, nor of the earlier one', async () => {
    const org = anOrg();
    const old = await secrets().current(org);
    const { secret } = await secrets().rotate(org);
    const stored = await storedText(org);
    expect(stored).toContain('v1.');
    expect(stored).not.toContain('whsec_');
    for (const text of [old.secret, secret].map((one) => one.slice('whsec_'.length))) {
      const bytes = Buffer.from(text, 'base64');
      for (const encoding of ['base64', 'base64url', 'hex', 'latin1', 'utf8'] as const) {
        expect(stored).not.toContain(bytes.toString(encoding).slice(0, 12));
        expect(stored).not.toContain(Buffer.from(text).toString(encoding).slice(0, 12));
      }
    }
  });

  it('of one organisation is not readable for another', async () => {
    const [mine, other] = [anOrg(), anOrg()];
    await secrets().current(mine);
    await log.js.publish(`$KV.WEBHOOK_SECRETS.${other}`, await storedText(mine));
    await expect(secrets().current(other)).rejects.toBeInstanceOf(UnreadableSecret);
  });

  it('stays the same while the key of the box is replaced, and a read seals nothing again', async () => {
    const [org, clock, next] = [anOrg(), aClock(), aKey()];
    const first = await secrets(clock).current(org);
    const rotated = await secrets(clock).rotate(org);
    const stored = await storedText(org);
    const changed = secrets(clock, [next, key]);
    expect(await changed.current(org)).toEqual(rotated);
    expect(await storedText(org)).toBe(stored);
    const sealed = sealedSigningSecrets(log, secretBox([next, key]), clock.now);
    expect(await sealed.reseal(org)).toEqual({ kind: 'resealed' });
    expect(await secrets(clock, [next]).valid(org)).toEqual([rotated.secret, first.secret]);
    await expect(secrets(clock, [key]).current(org)).rejects.toThrow('RUNLEDGER_SECRET_KEYS');
  });

  it('whose key is lost is replaced only by a rotation without an overlap', async () => {
    const org = anOrg();
    await secrets().current(org);
    const later = secrets(aClock(), [aKey()]);
    await expect(later.rotate(org)).rejects.toBeInstanceOf(UnreadableSecret);
    const { secret } = await later.rotate(org, { overlap_s: 0 });
    expect(await later.valid(org)).toEqual([secret]);
  });
});
