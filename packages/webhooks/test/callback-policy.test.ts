import {
  callbackPolicy,
  type CallbackPolicy,
  type CallbackPolicySettings,
  checkCallbackUrl,
} from '../src/callback-policy.ts';
import { mayConnect } from '../src/resolve-callback.ts';
import { describe, expect, it } from 'vitest';

const policy = (settings: Partial<CallbackPolicySettings>): CallbackPolicy =>
  callbackPolicy({ allow: [], ports: [80, 443], ownServices: [], ...settings });

const verdict = (url: string, settings: Partial<CallbackPolicySettings>): string => {
  const checked = checkCallbackUrl(url, policy(settings));
  return checked.ok ? 'ok' : checked.refusal;
};

describe('a setting for other than public addresses', () => {
  it.each([
    ['http://127.0.0.1:9000/', 'ok'],
    ['http://127.255.1.2:9000/', 'ok'],
    ['http://[::1]:9000/', 'ok'],
    ['http://[::ffff:127.0.0.1]:9000/', 'ok'],
    ['http://LOCALHOST.:9000/', 'ok'],
    ['http://foo.localhost:9000/', 'name'],
    ['http://0.0.0.0:9000/', 'ip'],
    ['http://[::]:9000/', 'ip'],
    ['http://[::127.0.0.1]/', 'ip'],
    ['http://10.0.0.1/', 'ip'],
    ['http://example.com:9000/', 'port'],
  ])('loopback: %s is judged %s', (url, expected) => {
    expect(verdict(url, { allow: ['loopback'] })).toBe(expected);
    expect(verdict(url, { allow: ['Loopback'] })).toBe(expected);
  });

  it.each([
    ['Hooks.Corp.Internal.', 'http://hooks.corp.internal:9000/', 'ok'],
    ['hooks.corp.internal', 'http://a.hooks.corp.internal/', 'name'],
    ['receiver', 'http://receiver:9000/', 'ok'],
    ['my_receiver', 'http://my_receiver/', 'ok'],
    ['bücher.internal', 'http://xn--bcher-kva.internal/', 'ok'],
    ['10.1.0.0/16', 'http://10.1.2.3:9000/', 'ok'],
    ['10.1.0.0/16', 'http://10.2.2.3/', 'ip'],
    ['10.1.0.0/16', 'http://0xa010203:9000/', 'ok'],
    ['fd00::/8', 'http://[fd12::1]:9000/', 'ok'],
    ['::1', 'http://[::1]:9000/', 'ok'],
    ['[::1]', 'http://[::1]:9000/', 'ok'],
    ['8.8.8.8', 'http://8.8.8.8:9000/', 'ok'],
    ['localhost', 'http://localhost:9000/', 'ok'],
    ['localhost', 'http://127.0.0.1:9000/', 'ip'],
  ])('%s: %s is judged %s', (entry, url, expected) => {
    expect(verdict(url, { allow: [entry] })).toBe(expected);
  });

  it.each([
    '',
    '*.example.com',
    'https://example.com',
    'example.com:8080',
    'a b',
    'a..b',
    'user@example.com',
    '300.1.1.1',
    `${'a'.repeat(64)}.example`,
    'fe80::1%eth0',
  ])('is never %j, and the message shows valid examples', (entry) => {
    expect(() => policy({ allow: [entry] })).toThrow(RangeError);
    expect(() => policy({ allow: [entry] })).toThrow(/is not a (host|network): write .* 10\.1\.0\.0\/16/);
  });

  it('rejects an invalid port', () => {
    for (const port of [0, 65_536, 1.5, Number.NaN])
      expect(() => policy({ ports: [port] })).toThrow(/is not a port: write whole numbers from 1 to 65535/);
  });
});

describe('a service of our own', () => {
  const everything = ['loopback', '0.0.0.0/0', '::/0', 'nats.example.com', 'localhost'];

  it.each([
    ['127.0.0.1:4222', 'http://127.0.0.1:4222/', 'ip'],
    ['127.0.0.1:4222', 'http://127.9.9.9:4222/', 'ip'],
    ['127.0.0.1:4222', 'http://[::1]:4222/', 'ip'],
    ['127.0.0.1:4222', 'http://0.0.0.0:4222/', 'ip'],
    ['127.0.0.1:4222', 'http://[::ffff:127.0.0.1]:4222/', 'ip'],
    ['127.0.0.1:4222', 'http://127.0.0.1:4223/', 'ok'],
    ['127.0.0.1:4222', 'http://10.0.0.1:4222/', 'ok'],
    ['0.0.0.0:9101', 'http://[::1]:9101/', 'ip'],
    ['localhost:9101', 'http://127.0.0.1:9101/', 'ip'],
    ['[::1]:9101', 'http://127.0.0.1:9101/', 'ip'],
    ['10.0.0.5', 'http://10.0.0.5:1234/', 'ip'],
    ['fd00::5', 'http://[fd00::5]:1234/', 'ip'],
    ['NATS.example.com.:4222', 'http://nats.example.com:4222/', 'name'],
    ['nats.example.com:4222', 'http://nats.example.com:80/', 'ok'],
    ['nats.example.com', 'http://nats.example.com:80/', 'name'],
    ['gateway.example.com:443', 'https://gateway.example.com/', 'name'],
  ])('%s is not reachable by %s, even if it is allowed: %s', (service, url, expected) => {
    expect(verdict(url, { allow: everything, ownServices: [service] })).toBe(expected);
  });

  it('is refused with a message that names no setting', () => {
    const checked = checkCallbackUrl(
      'http://127.0.0.1:4222/',
      policy({ allow: ['loopback'], ownServices: ['127.0.0.1:4222'] }),
    );
    expect(!checked.ok && checked.why).toBe(
      '127.0.0.1 at port 4222 is a service of Runledger itself, which is never reached this way',
    );
  });

  it.each(['', ':80', 'a:0', 'a:65536', 'a:b', 'http://a', 'a:1:2', '::1:80x', '[::1', 'a/b'])(
    'is never %j, and the message shows valid examples',
    (entry) => {
      expect(() => policy({ ownServices: [entry] })).toThrow(/is not a service: write host:port or host/);
    },
  );
});

describe('the peer of a connection', () => {
  it.each([
    [[], 'example.com', '8.8.8.8', 443, true],
    [[], 'example.com.', '::ffff:8.8.8.8', 443, true],
    [[], 'example.com', '127.0.0.1', 443, false],
    [[], 'example.com', '::ffff:127.0.0.1', 443, false],
    [[], 'example.com', '8.8.8.8', 22, false],
    [[], 'example.com', '', 443, false],
    [[], 'localhost', '8.8.8.8', 443, false],
    [[], '8.8.8.8', '8.8.8.8', 443, true],
    [[], '8.8.8.8', '8.8.4.4', 443, false],
    [[], '[2606:4700::1111]', '2606:4700:0::1111', 443, true],
    [['loopback'], 'localhost', '::1', 9000, true],
    [['loopback'], 'localhost', '10.0.0.1', 9000, false],
    [['loopback'], 'localhost', '127.0.0.1', 4222, false],
    [['hooks.corp'], 'hooks.corp', '10.0.0.1', 9000, true],
    [['hooks.corp'], 'hooks.corp', '127.0.0.1', 4222, false],
    [['10.0.0.0/8'], 'example.com', '10.0.0.1', 443, true],
  ])('with %j allowed, %s may connect to %s at %i: %s', (allow, host, address, port, may) => {
    expect(mayConnect(policy({ allow, ownServices: ['127.0.0.1:4222'] }), host, address, port)).toBe(may);
  });
});
