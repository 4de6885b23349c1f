import { anyCharacter } from '@runledger/contracts/test/fixtures/any-character';
import { casesOf } from '@runledger/testing/random/cases';
import { callbackPolicy, checkCallbackUrl, type UrlRefusal } from '../src/callback-policy.ts';
import type { NameResolver } from '../src/name-resolver.ts';
import { resolveCallback } from '../src/resolve-callback.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import cases from './webhook-url-cases.json' with { type: 'json' };

const policy = callbackPolicy({ allow: [], ports: [80, 443, 8080, 8443], ownServices: [] });

const everyNameIsPublic: NameResolver = {
  resolve: async () => ({ kind: 'addresses', addresses: ['8.8.4.4', '2606:4700::1111'] }),
};

/** The verdict in the words of the cases. */
const verdictOn = async (text: string): Promise<string> => {
  const verdict = checkCallbackUrl(text, policy);
  if (!verdict.ok)
    return `REJECT ${verdict.refusal === 'characters' ? 'control/space/backslash' : verdict.refusal}`;
  const resolved = await resolveCallback(
    verdict.url,
    { policy, resolver: everyNameIsPublic },
    new AbortController().signal,
  );
  if (resolved.kind !== 'allowed') return resolved.kind;
  return resolved.addresses.length === 1 ? 'OK ip' : 'DNS';
};

const refusalOf = (text: string): UrlRefusal | 'ok' => {
  const verdict = checkCallbackUrl(text, policy);
  return verdict.ok ? 'ok' : verdict.refusal;
};

const whyNot = (text: string): string => {
  const verdict = checkCallbackUrl(text, policy);
  return verdict.ok ? 'allowed' : verdict.why;
};

describe('a callback URL', () => {
  it.each(cases)('$url gets the verdict $expect', async ({ url, expect: verdict }) => {
    expect(await verdictOn(url)).toBe(verdict);
  });

  it.each<[string, UrlRefusal | 'ok']>([
    ['https://example.com/hook?run=1', 'ok'],
    ['HTTPS://EXAMPLE.com', 'ok'],
    ['https://bücher.example/', 'ok'],
    ['https://example.com:443/', 'ok'],
    ['https://example.com/a@b', 'ok'],
    ['https://example.com?mail=a@b', 'ok'],
    [' https://example.com/', 'characters'],
    ['https://example.com/\u00a0', 'characters'],
    ['https://example.com/\u0085', 'characters'],
    ['https://example.com/\ud800', 'characters'],
    ['https://example.com/#', 'fragment'],
    ['https://example.com/#part', 'fragment'],
    ['https://@example.com/', 'userinfo'],
    ['https://:@example.com/', 'userinfo'],
    ['https:///example.com/', 'scheme'],
    ['https:/example.com/', 'scheme'],
    ['example.com', 'scheme'],
    ['', 'scheme'],
    ['https://', 'parse'],
    ['https://example.com:99999/', 'parse'],
    ['https://example.123/', 'parse'],
    ['https://example.com:25/', 'port'],
    ['http://LOCALHOST./', 'name'],
    ['http://a.localdomain/', 'name'],
    ['http://metadata.google.internal/', 'name'],
    ['http://metadata.google.internal./', 'name'],
    ['http://metadata.goog/', 'name'],
    ['http://api.default.svc/', 'name'],
    ['http://api.default.svc.cluster.local/', 'name'],
    ['http://router.home.arpa/', 'name'],
    ['http://internal/', 'name'],
    ['http://my.internal.example.com/', 'ok'],
    ['http://notlocal.example/', 'ok'],
    ['http://example..com/', 'name'],
    ['http://example.com../', 'name'],
    ['http://.example.com/', 'name'],
    ['http://a_b.example.com/', 'name'],
    [`http://${'a'.repeat(63)}.example/`, 'ok'],
    [`http://${'a'.repeat(64)}.example/`, 'name'],
    [`http://${'a.'.repeat(130)}example/`, 'name'],
    ['http://127.0.0.1./', 'ip'],
    ['http://[::ffff:10.0.0.1]/', 'ip'],
    ['http://[2606:4700::1111]/', 'ok'],
  ])('%j is judged %s', (url, verdict) => {
    expect(refusalOf(url)).toBe(verdict);
  });

  it('has at most 2,048 characters, or the given maximum', () => {
    const url = 'https://example.com/'.padEnd(2_048, 'a');
    expect(refusalOf(url)).toBe('ok');
    expect(whyNot(`${url}a`)).toMatch(/^the URL is longer than 2048 characters/);
    expect(checkCallbackUrl('https://example.com/', policy, 19)).toMatchObject({ refusal: 'too_long' });
  });

  it('has no more bytes in an event than characters that it may have, whatever they are', () => {
    const unit = fc.constantFrom('a', '"', 'é', '語', '😀', '%E8', '?');
    const path = fc.oneof(
      fc.string({ unit, minLength: 300, maxLength: 2_200 }),
      fc.tuple(unit, fc.nat(2_200)).map(([one, count]) => one.repeat(count)),
    );
    fc.assert(
      fc.property(path, (rest) => {
        const url = `https://example.com/${rest}`;
        const bytes = Buffer.byteLength(JSON.stringify(url)) - 2;
        expect(refusalOf(url)).toBe(bytes <= 2_048 ? 'ok' : 'too_long');
      }),
    );
  });

  it('loses only the dot at the end of its host', () => {
    const verdict = checkCallbackUrl('https://Example.com.:8443/hook?a=%20&b', policy);
    expect(verdict.ok && verdict.url.href).toBe('https://example.com:8443/hook?a=%20&b');
  });

  it('is refused with the rule, and with the setting that would allow it', () => {
    const allow = (entry: string): string =>
      `the operator can allow it with ${entry} in RUNLEDGER_WEBHOOK_ALLOW`;
    expect(whyNot('http://10.1.2.3/')).toBe(
      `the address 10.1.2.3 is not public (private network, 10.0.0.0/8); ${allow('10.1.2.3')}`,
    );
    expect(whyNot('http://hooks.corp.internal/')).toBe(
      `the host name hooks.corp.internal is under internal, which is not public; ${allow('hooks.corp.internal')}`,
    );
    expect(whyNot('http://receiver/')).toBe(
      `the host name receiver has only one label, and a public name has two or more; ${allow('receiver')}`,
    );
    expect(whyNot('http://example.com:22/')).toBe(
      `port 22 is not one of 80, 443, 8080, 8443; ${allow('example.com')}`,
    );
    expect(whyNot('http://exa mple.com/')).not.toContain('RUNLEDGER_WEBHOOK_ALLOW');
  });

  it('is never quoted except for host and port', () => {
    for (const url of ['http://u:secret@a.example/', 'http://10.0.0.1/secret?secret', 'http://a/#secret'])
      expect(whyNot(url)).not.toContain('secret');
  });

  it('gets a verdict for every text, without an exception', () => {
    const anyUrl = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.string({ unit: anyCharacter }).map((rest) => `http://${rest}`),
      fc.webUrl({ withFragments: true, withQueryParameters: true }),
    );
    fc.assert(
      fc.property(anyUrl, (text) => {
        expect(typeof checkCallbackUrl(text, policy).ok).toBe('boolean');
      }),
      { numRuns: casesOf(200) },
    );
  });
});

describe('an IPv4 address in a callback URL', () => {
  const number = (value: number): fc.Arbitrary<string> =>
    fc.constantFrom(
      String(value),
      `0${value.toString(8)}`,
      `000${value.toString(8)}`,
      `0x${value.toString(16)}`,
      `0X00${value.toString(16).toUpperCase()}`,
    );

  /** In 1 to 4 parts, the last of which takes the bytes that are left. */
  const parts = (bytes: readonly number[], count: number): fc.Arbitrary<string> => {
    const whole = bytes.slice(count - 1).reduce((sum, byte) => sum * 256 + byte, 0);
    return fc
      .tuple(...[...bytes.slice(0, count - 1), whole].map(number))
      .chain((texts) => fc.constantFrom('.', '。', '．', '%2E').map((dot) => texts.join(dot)));
  };

  const wide = (text: string): string =>
    text.replaceAll(/(?<!%)\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
  const encoded = (text: string): string => text.replace(/\d/, (digit) => `%3${digit}`);

  const byte = fc.nat(255);
  const spelled = fc
    .tuple(fc.constantFrom(0, 8, 10, 100, 127, 168, 169, 172, 192, 198, 203, 224, 255), byte, byte, byte)
    .chain((bytes) =>
      fc
        .tuple(
          fc.integer({ min: 1, max: 4 }).chain((count) => parts(bytes, count)),
          fc.nat(2),
          fc.boolean(),
        )
        .map(([text, form, dot]) => ({
          plain: bytes.join('.'),
          spelling: [text, wide(text), encoded(text)][form] + (dot ? '.' : ''),
        })),
    );

  it('gets the same verdict in every spelling', () => {
    fc.assert(
      fc.property(spelled, ({ plain, spelling }) => {
        expect(URL.parse(`http://${spelling}/`)?.hostname, spelling).toBe(plain);
        expect(refusalOf(`http://${spelling}/`)).toBe(refusalOf(`http://${plain}/`));
        expect(refusalOf(`http://[::ffff:${plain}]/`)).toBe(refusalOf(`http://${plain}/`));
      }),
      { numRuns: casesOf(200) },
    );
  });
});
