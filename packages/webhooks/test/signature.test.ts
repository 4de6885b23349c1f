import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { describe, expect, it } from 'vitest';
import { newSigningSecret, signedHeaders } from '../src/signature.ts';

const utf8 = new TextEncoder();

/** What a receiver does with the official libraries, which read a body as text. */
const oracles = [
  {
    library: 'standardwebhooks',
    verify: (secret: string, body: Uint8Array, headers: object) =>
      new StandardWebhook(secret).verify(Buffer.from(body), { ...headers }, { jsonParse: false }),
  },
  {
    library: 'svix',
    verify: (secret: string, body: Uint8Array, headers: object) =>
      new SvixWebhook(secret).verify(Buffer.from(body), { ...headers }),
  },
];

const anId = fc.stringMatching(/^[\w-]{1,256}$/);
const aSecret = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`);
const aText = fc.string({ unit: 'grapheme' });

describe.each(oracles)('$library', ({ verify }) => {
  const body = utf8.encode('{"id":"a","outputs":["größer"]}');
  const secret = newSigningSecret();
  const sign = (secrets: readonly string[] = [secret], at = new Date()) =>
    signedHeaders({ id: 'msg_1', at, body, secrets });

  it('verifies every body and id, with every secret', () => {
    fc.assert(
      fc.property(anId, aText, aSecret, (id, text, anySecret) => {
        const bytes = utf8.encode(text);
        const headers = signedHeaders({ id, at: new Date(), body: bytes, secrets: [anySecret] });
        expect(() => verify(anySecret, bytes, headers)).not.toThrow();
      }),
    );
  });

  it('verifies with each of two secrets', () => {
    const other = newSigningSecret();
    const headers = sign([secret, other]);
    expect(() => verify(secret, body, headers)).not.toThrow();
    expect(() => verify(other, body, headers)).not.toThrow();
    expect(() => verify(newSigningSecret(), body, headers)).toThrow('No matching signature');
  });

  it('refuses another body, id, time or signature', () => {
    const headers = sign();
    const seconds = Number(headers['webhook-timestamp']);
    const refused = (changed: object, sent = body): void =>
      expect(() => verify(secret, sent, { ...headers, ...changed })).toThrow('No matching signature');
    refused({}, utf8.encode('{"id":"b","outputs":["größer"]}'));
    refused({}, utf8.encode(''));
    refused({ 'webhook-id': 'msg_2' });
    refused({ 'webhook-timestamp': String(seconds - 1) });
    refused({ 'webhook-signature': `v1,${randomBytes(32).toString('base64')}` });
    refused({ 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v2,') });
  });

  it('refuses a notification that was sent long ago', () => {
    const old = sign([secret], new Date(Date.now() - 10 * 60_000));
    expect(() => verify(secret, body, old)).toThrow('too old');
  });
});

describe('a signature', () => {
  it('follows the specification for all bytes', () => {
    fc.assert(
      fc.property(
        anId,
        fc.uint8Array({ maxLength: 4_096 }),
        fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }),
        (id, body, at) => {
          const key = randomBytes(32);
          const headers = signedHeaders({ id, at, body, secrets: [`whsec_${key.toString('base64')}`] });
          const seconds = Math.floor(at.getTime() / 1_000);
          const signed = Buffer.concat([Buffer.from(`${id}.${seconds}.`), body]);
          expect(headers).toEqual({
            'webhook-id': id,
            'webhook-timestamp': String(seconds),
            'webhook-signature': `v1,${createHmac('sha256', key).update(signed).digest('base64')}`,
          });
        },
      ),
    );
  });

  // The example of https://docs.svix.com/receiving/verifying-payloads/how-manual
  it('equals that of the published example', () => {
    const headers = signedHeaders({
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      at: new Date(1_614_265_330_000),
      body: utf8.encode('{"test": 2432232314}'),
      secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    });
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  it('is repeated for each secret, in their order', () => {
    const [one, two] = [newSigningSecret(), newSigningSecret()];
    const sign = (secrets: readonly string[]): string =>
      signedHeaders({ id: 'a', at: new Date(0), body: utf8.encode('x'), secrets })['webhook-signature'];
    expect(sign([one, two])).toBe(`${sign([one])} ${sign([two])}`);
  });

  it.each(['', 'a.b', 'a b', 'a\r\nb', 'ä', 'a'.repeat(257)])('is refused for the id %j', (id) => {
    const sign = () =>
      signedHeaders({ id, at: new Date(), body: new Uint8Array(), secrets: [newSigningSecret()] });
    expect(sign).toThrow('is not a valid webhook id');
  });

  it('needs a secret of 24 to 64 bytes, and never quotes an invalid one', () => {
    const sign = (secrets: readonly string[]) => () =>
      signedHeaders({ id: 'a', at: new Date(), body: new Uint8Array(), secrets });
    const ofBytes = (count: number): string => `whsec_${randomBytes(count).toString('base64')}`;
    expect(sign([])).toThrow('at least one secret');
    for (const wrong of [
      ofBytes(23),
      ofBytes(65),
      ofBytes(32).slice(6),
      'whsec_no base64 at all, however long',
    ]) {
      expect(sign([wrong])).toThrow('24 to 64 bytes in base64');
      expect(sign([wrong])).not.toThrow(wrong);
    }
    expect(sign([ofBytes(24), ofBytes(64)])).not.toThrow();
  });

  it('is made with a new secret of 32 bytes', () => {
    const secret = newSigningSecret();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(newSigningSecret()).not.toBe(secret);
  });
});
