import { stubDns, type StubDnsName } from '@runledger/testing/stand-ins/stub-dns';
import { casesOf } from '@runledger/testing/random/cases';
import { callbackPolicy, type CallbackPolicySettings } from '../src/callback-policy.ts';
import { nameResolver } from '../src/name-resolver.ts';
import { resolveCallback, type CallbackAddresses } from '../src/resolve-callback.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const never = new AbortController().signal;

const resolved = async (
  url: string,
  names: Readonly<Record<string, StubDnsName>>,
  settings: Partial<CallbackPolicySettings> = {},
): Promise<CallbackAddresses> => {
  await using dns = await stubDns(names);
  using resolver = nameResolver({ servers: [dns.server], clock: () => 0 });
  const policy = callbackPolicy({ allow: [], ports: [80, 443, 8080], ownServices: [], ...settings });
  return await resolveCallback(new URL(url), { policy, resolver }, never);
};

const forbidden = (why: RegExp): unknown => ({ kind: 'forbidden', why: expect.stringMatching(why) });

describe('the addresses of a callback', () => {
  it('are all addresses of its name in DNS', async () => {
    expect(
      await resolved('https://a.example/', { 'a.example': ['8.8.8.8', '8.8.4.4', '2606:4700::1111'] }),
    ).toEqual({ kind: 'allowed', addresses: ['8.8.8.8', '8.8.4.4', '2606:4700::1111'], arePublic: true });
  });

  it.each([
    ['a loopback address', ['127.0.0.1']],
    ['one private address among public ones', ['8.8.8.8', '10.0.0.1', '2606:4700::1111']],
    ['one private IPv6 address beside a public IPv4 address', ['8.8.8.8', 'fd00::1']],
    ['a metadata address', ['169.254.169.254']],
    ['the address 0.0.0.0', ['0.0.0.0']],
    ['an IPv4-mapped loopback address', ['::ffff:127.0.0.1']],
    ['a NAT64 address', ['64:ff9b::7f00:1']],
  ])('are refused for %s, in words that name no address', async (_, answer) => {
    expect(await resolved('https://a.example/', { 'a.example': answer })).toEqual(
      forbidden(
        /^the host name a\.example has an address that is not public; the operator can allow it with a\.example in RUNLEDGER_WEBHOOK_ALLOW$/,
      ),
    );
  });

  it('are checked again after the name moved from a public address to loopback', async () => {
    let now = 0;
    await using dns = await stubDns({ 'rebind.example': ['8.8.8.8'] });
    using resolver = nameResolver({ servers: [dns.server], clock: () => now });
    const parts = { policy: callbackPolicy({ allow: [], ports: [80], ownServices: [] }), resolver };
    const url = new URL('http://rebind.example/');
    expect(await resolveCallback(url, parts, never)).toMatchObject({
      kind: 'allowed',
      addresses: ['8.8.8.8'],
    });
    dns.set('rebind.example', ['127.0.0.1']);
    now += 5_000;
    expect(await resolveCallback(url, parts, never)).toEqual(
      forbidden(/^the host name rebind\.example has an address that is not public/),
    );
  });

  it('are also checked by the rules for the URL, so that no caller can forget them', async () => {
    const names = { localhost: ['8.8.8.8'], 'a.example': ['8.8.8.8'] };
    expect(await resolved('http://localhost/', names)).toEqual(forbidden(/has only one label/));
    expect(await resolved('http://a.example:22/', names)).toEqual(forbidden(/port 22/));
    expect(await resolved('http://127.0.0.1/', names)).toEqual(forbidden(/loopback/));
  });

  it('are the address itself if the URL has one, without a query', async () => {
    expect(await resolved('http://0x08.8.2056/', {})).toEqual({
      kind: 'allowed',
      addresses: ['8.8.8.8'],
      arePublic: true,
    });
    expect(await resolved('http://[2606:4700:0::1111]/', {})).toEqual({
      kind: 'allowed',
      addresses: ['2606:4700::1111'],
      arePublic: true,
    });
  });

  it('are those of the name without the dot at its end', async () => {
    expect(await resolved('http://A.example./', { 'a.example': ['8.8.8.8'] })).toMatchObject({
      kind: 'allowed',
    });
  });

  it('are accepted in every order', async () => {
    const address = fc.constantFrom('8.8.8.8', '1.1.1.1', '10.0.0.1', 'fd00::1', '2606:4700::1111');
    await using dns = await stubDns();
    const policy = callbackPolicy({ allow: [], ports: [80], ownServices: [] });
    await fc.assert(
      fc.asyncProperty(fc.array(address, { minLength: 1, maxLength: 5 }), async (answer) => {
        dns.set('a.example', answer);
        using resolver = nameResolver({ servers: [dns.server], clock: () => 0 });
        const { kind } = await resolveCallback(new URL('http://a.example/'), { policy, resolver }, never);
        expect(kind === 'allowed').toBe(!answer.some((one) => ['10.0.0.1', 'fd00::1'].includes(one)));
      }),
      { numRuns: casesOf(10) },
    );
  });

  it.each([
    ['not_found', {}],
    ['unanswered', { 'a.example': 'servfail' }],
  ] as const)('are unknown while the name is %s', async (kind, names) => {
    expect(await resolved('http://a.example/', names)).toMatchObject({ kind });
  });

  it('are awaited no longer than the signal allows', async () => {
    await using dns = await stubDns({ 'silent.example': 'silent' });
    using resolver = nameResolver({ servers: [dns.server], clock: () => 0 });
    const policy = callbackPolicy({ allow: [], ports: [80], ownServices: [] });
    const url = new URL('http://silent.example/');
    await expect(resolveCallback(url, { policy, resolver }, AbortSignal.timeout(50))).rejects.toThrow(
      expect.objectContaining({ name: 'TimeoutError' }),
    );
  });
});

describe('a setting', () => {
  it('resolves an allowed localhost to loopback without DNS', async () => {
    const names = { localhost: ['8.8.8.8'] };
    expect(await resolved('http://localhost:9000/', names, { allow: ['loopback'] })).toEqual({
      kind: 'allowed',
      addresses: ['127.0.0.1', '::1'],
      arePublic: false,
    });
  });

  it('allows a host with every address, and a network under every name', async () => {
    const names = { 'hooks.corp': ['10.0.0.1'], 'a.example': ['8.8.8.8', '10.1.0.1'] };
    expect(await resolved('http://hooks.corp:9000/', names, { allow: ['hooks.corp'] })).toMatchObject({
      kind: 'allowed',
      arePublic: false,
    });
    expect(await resolved('http://a.example/', names, { allow: ['10.1.0.0/16'] })).toMatchObject({
      kind: 'allowed',
      addresses: ['8.8.8.8', '10.1.0.1'],
      arePublic: false,
    });
    expect(await resolved('http://a.example/', names, { allow: ['10.2.0.0/16'] })).toEqual(
      forbidden(/a\.example has an address that is not public/),
    );
  });

  it('that allows a host does not make its public addresses inner ones', async () => {
    const names = { 'hooks.corp': ['8.8.8.8'] };
    expect(await resolved('http://hooks.corp:9000/', names, { allow: ['hooks.corp'] })).toMatchObject({
      kind: 'allowed',
      arePublic: true,
    });
  });
});

describe('a service of our own', () => {
  const settings = {
    allow: ['loopback', '10.0.0.0/8', 'nats.corp'],
    ownServices: ['nats.corp:8080', '127.0.0.1:443'],
  };
  const own = forbidden(/is a service of Runledger itself, which is never reached this way$/);

  it.each([
    ['by another name', 'http://a.example:8080/', { 'a.example': ['10.0.0.5'], 'nats.corp': ['10.0.0.5'] }],
    ['by one of its addresses', 'http://10.0.0.6:8080/', { 'nats.corp': ['10.0.0.5', '10.0.0.6'] }],
    ['by its name', 'http://nats.corp:8080/', { 'nats.corp': ['10.0.0.5'] }],
    ['by a name for loopback', 'https://a.example/', { 'a.example': ['127.0.0.2'] }],
    ['by localhost', 'https://localhost/', {}],
  ])('is not reached %s', async (_, url, names) => {
    expect(await resolved(url, names, settings)).toEqual(own);
  });

  it.each([
    ['an address of it', 'http://10.0.0.5:8080/', {}],
    ['a name for it', 'http://a.example:8080/', { 'a.example': ['10.0.0.5'] }],
    ['a name for loopback', 'https://a.example/', { 'a.example': ['127.0.0.2'] }],
    ['its address in another spelling', 'https://[::ffff:127.0.0.1]/', {}],
  ])('is refused like every other inner address that is not allowed: %s', async (_, url, names) => {
    const all = { ...names, 'nats.corp': ['10.0.0.5'] };
    const refusal = await resolved(url, all, { ...settings, allow: [] });
    expect(refusal).toEqual(forbidden(/not public/));
    expect(refusal).toEqual(await resolved(url, all, { allow: [] }));
  });

  it('is refused by a name without the address that the name has', async () => {
    const names = { 'a.example': ['10.0.0.5'], 'nats.corp': ['10.0.0.5'] };
    expect(await resolved('http://a.example:8080/', names, settings)).toEqual(
      forbidden(/^a\.example at port 8080 is a service of Runledger itself/),
    );
  });

  it('is reachable for callbacks at its other ports', async () => {
    const names = { 'a.example': ['10.0.0.5'], 'nats.corp': ['10.0.0.5'] };
    expect(await resolved('http://a.example/', names, settings)).toMatchObject({ kind: 'allowed' });
  });

  it('without an address forbids nothing', async () => {
    const names = { 'a.example': ['8.8.8.8'] };
    expect(await resolved('http://a.example:8080/', names, settings)).toMatchObject({ kind: 'allowed' });
  });

  it('that cannot be resolved is a failure on our side', async () => {
    const names = { 'a.example': ['8.8.8.8'], 'nats.corp': 'servfail' } as const;
    expect(await resolved('http://a.example:8080/', names, settings)).toMatchObject({
      kind: 'no_server',
      why: 'DNS gave no answer for the name of a service of Runledger itself',
    });
  });
});
