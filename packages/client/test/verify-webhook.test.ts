import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { RunledgerError, verifyWebhook, WebhookInvalid } from '../src/main.ts';

const secretOf = (byte: number): string => `whsec_${Buffer.alloc(32, byte).toString('base64')}`;
const [OLD, NEW, OTHER] = [secretOf(1), secretOf(2), secretOf(3)];
const NOTIFICATION = { run_id: 'r1', status: 'success', sequence: 5, finished: true };

/** What a service with these secrets sends, by the library of Standard Webhooks. */
const sent = (secrets: readonly string[], { at = new Date(), text = JSON.stringify(NOTIFICATION) } = {}) => ({
  body: text,
  headers: {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign('msg_1', at, text)).join(' '),
    'runledger-webhook-version': '1',
  },
});

describe('a notification', () => {
  it('is given when one of the secrets made one of the signatures', async () => {
    for (const [signers, secrets] of [
      [[NEW], NEW],
      [[NEW, OLD], OLD],
      [[NEW], [OLD, NEW]],
      [
        [OTHER, OLD],
        [NEW, OLD],
      ],
    ] as const)
      expect(await verifyWebhook({ ...sent(signers), secrets })).toEqual(NOTIFICATION);
  });

  it('may come as text or bytes, with headers of a web request or of Node', async () => {
    const { body, headers } = sent([NEW]);
    const bytes = new TextEncoder().encode(body);
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    for (const given of [
      { body: bytes, headers: new Headers(headers) },
      { body: bytes.buffer, headers: upper },
    ])
      expect(await verifyWebhook({ ...given, secrets: NEW })).toEqual(NOTIFICATION);
  });

  it.each([
    ['of another secret', { ...sent([OTHER]) }, /No signature/],
    ['whose body was changed', { ...sent([NEW]), body: `${JSON.stringify(NOTIFICATION)} ` }, /No signature/],
    ['without a signature', { body: '{}', headers: {} }, /not signed/],
    ['with a signature of another kind', withSignature('v1a,AAAA'), /No signature/],
    ['with half a signature', withSignature('v1,AAAA'), /No signature/],
    ['with a strange time', withHeader('webhook-timestamp', '5e3'), /No signature/],
    ['that is a replay', sent([NEW], { at: new Date(Date.now() - 301_000) }), /more than 300 s/],
    ['from the future', sent([NEW], { at: new Date(Date.now() + 900_000) }), /more than 300 s/],
    ['that is no JSON', sent([NEW], { text: 'hello' }), /no JSON object/],
  ])('%s is refused', async (_, given, message) => {
    const verifying = verifyWebhook({ ...given, secrets: [NEW, OLD] });
    await expect(verifying).rejects.toThrow(WebhookInvalid);
    await expect(verifying).rejects.toThrow(message);
  });

  it('may be older when its receiver says so', async () => {
    const given = sent([NEW], { at: new Date(Date.now() - 3_000_000) });
    expect(await verifyWebhook({ ...given, secrets: NEW, toleranceS: 3_600 })).toEqual(NOTIFICATION);
  });

  it('of a version that is not known asks for another client', async () => {
    const given = withHeader('runledger-webhook-version', '2');
    await expect(verifyWebhook({ ...given, secrets: NEW })).rejects.toThrow('Update @runledger/client');
  });
});

function withHeader(name: string, value: string) {
  const { body, headers } = sent([NEW]);
  return { body, headers: { ...headers, [name]: value } };
}

function withSignature(signature: string) {
  return withHeader('webhook-signature', signature);
}

describe('a receiver that is wrong', () => {
  it('is told that the body was parsed', async () => {
    const given = { ...sent([NEW]), body: NOTIFICATION as unknown as string };
    await expect(verifyWebhook({ ...given, secrets: NEW })).rejects.toThrow('before JSON is parsed');
  });

  it.each([[''], ['whsec_'], ['whsec_!'], [`whsec_${'A'.repeat(12)}`], [NEW.slice(6)]])(
    'is told that %o is no secret, without quoting it',
    async (secret) => {
      const verifying = verifyWebhook({ ...sent([NEW]), secrets: secret });
      await expect(verifying).rejects.toThrow(RunledgerError);
      await expect(verifying).rejects.toThrow('This one is not: copy it again');
    },
  );

  it('is told that there is no secret', async () => {
    await expect(verifyWebhook({ ...sent([NEW]), secrets: [] })).rejects.toThrow('There is no secret');
  });
});
