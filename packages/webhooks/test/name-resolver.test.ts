import { stubDns } from '@runledger/testing/stand-ins/stub-dns';
import { waitFor } from '@runledger/testing/wait-for';
import { nameResolver, type NameResolver, type Resolution } from '../src/name-resolver.ts';
import { describe, expect, it } from 'vitest';

const never = new AbortController().signal;
const started = (): number => 0;

const resolverAt = (server: string, clock: () => number = started): NameResolver & Disposable =>
  nameResolver({ servers: [server], clock });

const addresses = (...list: string[]): Resolution => ({ kind: 'addresses', addresses: list });

describe('a name', () => {
  it('has the addresses of both families', async () => {
    await using dns = await stubDns({ 'both.example': ['2001:db8::1', '192.0.2.1', '192.0.2.2'] });
    using resolver = resolverAt(dns.server);
    expect(await resolver.resolve('both.example', never)).toEqual(
      addresses('192.0.2.1', '192.0.2.2', '2001:db8::1'),
    );
  });

  it.each([
    ['the other has no address', ['192.0.2.1'], []],
    ['the other fails', ['192.0.2.1'], 'servfail'],
    ['the other is refused', ['192.0.2.1'], 'refused'],
  ] as const)('has the addresses of one family when %s', async (_, A, AAAA) => {
    await using dns = await stubDns({ 'one.example': { A, AAAA } });
    using resolver = resolverAt(dns.server);
    expect(await resolver.resolve('one.example', never)).toEqual(addresses('192.0.2.1'));
  });

  it.each([
    ['does not exist', undefined, 'not_found', /a\.example has no address in DNS \(ENOTFOUND\)/],
    ['has no address', [], 'not_found', /\(ENODATA\)/],
    ['fails', 'servfail', 'unanswered', /no answer for the name a\.example \(ESERVFAIL\)/],
    ['is refused', 'refused', 'unanswered', /\(EREFUSED\)/],
    ['fails for one family', { A: [], AAAA: 'servfail' }, 'unanswered', /\(ESERVFAIL\)/],
  ] as const)('that %s has its own outcome', async (_, answer, kind, why) => {
    await using dns = await stubDns(answer === undefined ? {} : { 'a.example': answer });
    using resolver = resolverAt(dns.server);
    expect(await resolver.resolve('a.example', never)).toEqual({ kind, why: expect.stringMatching(why) });
  });

  it('that is too long for a query is not found', async () => {
    await using dns = await stubDns();
    using resolver = resolverAt(dns.server);
    expect(await resolver.resolve(`${'a'.repeat(70)}.example`, never)).toMatchObject({ kind: 'not_found' });
  });

  it('is resolved while hundreds of unresponsive names wait', async () => {
    await using dns = await stubDns({ 'good.example': ['192.0.2.1'] });
    using resolver = resolverAt(dns.server);
    const ended: string[] = [];
    const waits: Promise<unknown>[] = [];
    // In parts, because the socket of the stub holds a limited number of queries.
    for (let part = 0; part < 10; part += 1) {
      const names = Array.from({ length: 50 }, (_, index) => `silent-${part}-${index}.example`);
      for (const name of names) {
        dns.set(name, 'silent');
        waits.push(resolver.resolve(name, never).then(() => ended.push(name)));
      }
      await waitFor('the questions', () => names.every((name) => dns.questions(name) > 0));
    }
    expect(await resolver.resolve('good.example', never)).toEqual(addresses('192.0.2.1'));
    expect(ended.length).toBeLessThan(waits.length);
    resolver[Symbol.dispose]();
    await Promise.all(waits);
  });
});

describe('an answer', () => {
  it('is shared by all concurrent callers', async () => {
    await using dns = await stubDns({ 'a.example': ['192.0.2.1'] });
    using resolver = resolverAt(dns.server);
    await Promise.all(Array.from({ length: 50 }, () => resolver.resolve('a.example', never)));
    expect(dns.questions('a.example')).toBe(2);
  });

  it('is cached for 5 s, whatever its time to live', async () => {
    let now = 0;
    await using dns = await stubDns({ 'a.example': ['192.0.2.1'] });
    using resolver = resolverAt(dns.server, () => now);
    expect(await resolver.resolve('a.example', never)).toEqual(addresses('192.0.2.1'));
    dns.set('a.example', ['192.0.2.2']);
    now = 4_999;
    expect(await resolver.resolve('a.example', never)).toEqual(addresses('192.0.2.1'));
    now = 5_000;
    expect(await resolver.resolve('a.example', never)).toEqual(addresses('192.0.2.2'));
  });
});

describe('the wait of a caller', () => {
  it('does not begin after the signal was aborted', async () => {
    await using dns = await stubDns({ 'a.example': ['192.0.2.1'] });
    using resolver = resolverAt(dns.server);
    await expect(resolver.resolve('a.example', AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
    expect(dns.questions('a.example')).toBe(0);
  });
});

describe('a DNS server', () => {
  it('that refuses connections is a failure on our side', async () => {
    const stopped = await stubDns();
    await stopped[Symbol.asyncDispose]();
    using resolver = resolverAt(stopped.server);
    expect(await resolver.resolve('a.example', never)).toEqual({
      kind: 'no_server',
      why: 'every DNS server refuses connections (ECONNREFUSED, query for a.example)',
    });
  });

  it.each(['dns.example', '10.0.0.1:0', '10.0.0.1:99999', 'fd00::1::2', '', '[::1', '10.0.0.1/24'])(
    'is never %j, and the message shows valid examples',
    (server) => {
      expect(() => resolverAt(server)).toThrow(/is not a DNS server: write its IP address, such as/);
    },
  );

  it.each(['10.0.0.1', '10.0.0.1:5353', 'fd00::1', '[fd00::1]', '[fd00::1]:5353'])('may be %s', (server) => {
    expect(() => resolverAt(server)).not.toThrow();
  });

  it('is that of the system by default', () => {
    using resolver = nameResolver({ servers: [], clock: started });
    expect(resolver).toBeDefined();
  });
});

/** Each lasts some seconds, so they run concurrently. */
describe.concurrent('a missing response', () => {
  it('for a name ends as unanswered, within the time of a delivery attempt', async ({ expect }) => {
    await using dns = await stubDns({ 'silent.example': 'silent' });
    using resolver = resolverAt(dns.server);
    expect(await resolver.resolve('silent.example', AbortSignal.timeout(15_000))).toEqual({
      kind: 'unanswered',
      why: 'DNS gave no answer for the name silent.example (ETIMEOUT)',
    });
  });

  it('for two or more names and 30 s is a failure on our side', async ({ expect }) => {
    let now = 0;
    await using dns = await stubDns({ 'one.example': 'silent', 'two.example': 'silent' });
    using resolver = resolverAt(dns.server, () => now);
    const one = resolver.resolve('one.example', never);
    const two = resolver.resolve('two.example', never);
    await waitFor(
      'the questions',
      () => dns.questions('one.example') > 0 && dns.questions('two.example') > 0,
    );
    now = 30_000;
    expect([(await one).kind, (await two).kind].sort()).toEqual(['no_server', 'unanswered']);
  });

  it('ends for a caller with its signal, and the query continues for others', async ({ expect }) => {
    await using dns = await stubDns({ 'a.example': 'silent' });
    using resolver = resolverAt(dns.server);
    const impatient = new AbortController();
    const ended = resolver.resolve('a.example', impatient.signal).catch((reason: unknown) => reason);
    const other = resolver.resolve('a.example', never);
    await waitFor('the questions', () => dns.questions('a.example') > 1);
    const reason = new Error('too late');
    impatient.abort(reason);
    expect(await ended).toBe(reason);
    dns.set('a.example', ['192.0.2.1']);
    expect(await other).toEqual(addresses('192.0.2.1'));
  });
});
