import { stubDns } from '@runledger/testing/stand-ins/stub-dns';
import { assigned, started, succeeded } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import cases from '@runledger/webhooks/webhook-url-cases.json' with { type: 'json' };
import { aReceiver, status } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBed } from '../fixtures/test-bed.ts';
import { retryOf, attemptsOf } from '../fixtures/attempts-of.ts';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { recordingProxy } from '../fixtures/recording-proxy.ts';
import { rawReceiver } from '../sending/receivers.ts';

const refused = cases.filter((one) => one.expect.startsWith('REJECT'));
const allowed = cases.filter((one) => !one.expect.startsWith('REJECT'));

const PUBLIC = ['8.8.4.4', '2606:4700::1111'];
const namesIn = (urls: readonly { readonly url: string }[]): Record<string, readonly string[]> =>
  Object.fromEntries(urls.map(({ url }) => [URL.parse(url)?.hostname ?? '', PUBLIC]));

const ended = { reason: 'forbidden', status: null, answer: null };

describe('a callback', () => {
  it.concurrent('is never connected to when the policy refuses its URL', async () => {
    await using receiver = await aReceiver();
    await using proxy = await recordingProxy(receiver.url);
    await using dns = await stubDns(namesIn(cases));
    await using bed = await openTestBed();
    await using running = await bed.start({
      allow: [],
      dnsServers: [dns.server],
      proxy: new URL(`http://127.0.0.1:${proxy.port}`),
    });
    const keys = await Promise.all(refused.map(({ url }) => bed.succeed(url)));
    for (const key of keys) {
      const { attempts: tries, state } = await retryOf(bed, key);
      // There may have been another attempt by now: each of them is refused.
      expect(tries).toMatchObject(
        tries.map((_, n) => ({ ...ended, try: n + 1, phases: { connect: expect.toBeOneOf([0, null]) } })),
      );
      expect(state).toMatchObject({ state: 'retrying', last_reason: 'forbidden' });
      expect(JSON.stringify(tries)).not.toContain('pw@');
      expect(await bed.webhook(key)).toMatchObject({ status: 'running' });
    }
    expect(proxy.taken()).toBe(0);
    expect(await running.metric('runledger_notifier_open_breakers')).toBe(0);

    // The same way is open for those that are allowed.
    const notified = await Promise.all(allowed.map(({ url }) => bed.succeed(url)));
    for (const key of notified) {
      const { attempts: tries } = await attemptsOf(bed, key);
      expect(tries[0]?.reason).not.toBe('forbidden');
    }
    expect(proxy.asked).toEqual(expect.arrayContaining(['1.2.0.3:80', '8.8.8.8:80', '8.8.4.4:8443']));
    expect(receiver.arrived).toHaveLength(2);
  });

  it.concurrent.each([
    ['as it is', '127.0.0.1'],
    ['within IPv6', '[::ffff:127.0.0.1]'],
  ])('reaches no server on this machine, with the address written %s', async (_how, host) => {
    await using listener = await rawReceiver(() => undefined);
    await using bed = await openTestBed();
    await using running = await bed.start({ allow: [], ports: [listener.port] });
    const { attempts: tries } = await attemptsOf(
      bed,
      await bed.succeed(`http://${host}:${listener.port}/admin`),
    );
    expect(tries).toMatchObject([ended]);
    expect(listener.taken()).toBe(0);
    expect(await running.metric('runledger_notifier_attempts_total', { reason: 'forbidden' })).toBe(1);
  });
});

describe('a name', () => {
  /** The only address that is allowed here. */
  const OUTSIDE = '127.0.0.2';
  const INSIDE = '127.0.0.1';

  it.concurrent('that got a forbidden address after the run was queued is not connected to', async () => {
    await using listener = await rawReceiver(() => undefined, INSIDE);
    await using dns = await stubDns({ 'hooks.example.com': [OUTSIDE] });
    await using bed = await openTestBed();
    await using running = await bed.start({
      allow: [OUTSIDE],
      ports: [listener.port],
      dnsServers: [dns.server],
    });
    const key = await bed.queue(`http://hooks.example.com:${listener.port}/hook`);
    dns.set('hooks.example.com', [INSIDE]);
    await bed.happen(key, assigned(key), started(key), succeeded(key));
    const { attempts: tries } = await attemptsOf(bed, key);
    expect(tries).toMatchObject([
      { ...ended, message: expect.stringMatching(/has an address that is not public/) },
    ]);
    expect(JSON.stringify(tries)).not.toContain(INSIDE);
    expect(listener.taken()).toBe(0);
    expect(dns.questions('hooks.example.com')).toBeGreaterThan(0);
    expect(await running.metric('runledger_notifier_attempts_total', { reason: 'forbidden' })).toBe(1);
  });

  it.concurrent('that got a forbidden address after the last attempt is not connected to', async () => {
    // Later than an answer of DNS is kept for.
    await using receiver = await aReceiver(status(503, { 'retry-after': '7' }), 0, OUTSIDE);
    const { port } = new URL(receiver.url);
    await using listener = await rawReceiver(() => undefined, INSIDE, Number(port));
    await using dns = await stubDns({ 'hooks.example.com': [OUTSIDE] });
    await using bed = await openTestBed();
    await using running = await bed.start({
      allow: [OUTSIDE],
      ports: [Number(port)],
      dnsServers: [dns.server],
    });
    const key = await bed.succeed(`http://hooks.example.com:${port}/hook`);
    await attemptsOf(bed, key);
    dns.set('hooks.example.com', [INSIDE]);
    const { attempts: tries } = await attemptsOf(bed, key, 2);
    expect(tries).toMatchObject([{ reason: 'server_error' }, { ...ended, try: 2 }]);
    expect(receiver.arrived).toHaveLength(1);
    expect(listener.taken()).toBe(0);
    expect(await running.metric('runledger_notifier_open_breakers')).toBe(0);
  });

  it.concurrent.each([
    ['an IPv4 address', [OUTSIDE, INSIDE]],
    ['an address of a private network', [OUTSIDE, '10.0.0.1']],
  ])('with a forbidden address among its addresses is not connected to: %s', async (_what, answers) => {
    await using receiver = await aReceiver(status(200), 0, OUTSIDE);
    const { port } = new URL(receiver.url);
    await using listener = await rawReceiver(() => undefined, INSIDE, Number(port));
    await using dns = await stubDns({ 'hooks.example.com': answers });
    await using bed = await openTestBed();
    await using running = await bed.start({
      allow: [OUTSIDE],
      ports: [Number(port)],
      dnsServers: [dns.server],
    });
    const { attempts: tries } = await attemptsOf(
      bed,
      await bed.succeed(`http://hooks.example.com:${port}/hook`),
    );
    expect(tries).toMatchObject([ended]);
    for (const address of answers) expect(tries[0]?.message).not.toContain(address);
    expect(receiver.arrived).toEqual([]);
    expect(listener.taken()).toBe(0);
    expect(await running.metric('runledger_notifier_attempts_total', { reason: 'forbidden' })).toBe(1);
  });
});

describe('RUNLEDGER_WEBHOOK_ALLOW', () => {
  it.concurrent.each([
    ['a name', 'hooks.corp.example', 'hooks.corp.example'],
    ['loopback', 'loopback', 'localhost'],
  ])('allows %s, at any port', async (_what, allow, host) => {
    await using receiver = await aReceiver();
    const { port } = new URL(receiver.url);
    await using dns = await stubDns({ 'hooks.corp.example': ['127.0.0.1'] });
    await using bed = await openTestBed();
    await using running = await bed.start({ allow: [allow], dnsServers: [dns.server] });
    const key = await bed.succeed(`http://${host}:${port}/hook`);
    await expectSoon('its outcome', async () =>
      expect(await bed.webhook(key)).toMatchObject({ status: 'success', tries: 1 }),
    );
    expect(receiver.of(key.run_id)[0]?.headers['host']).toBe(`${host}:${port}`);
    expect(await running.metric('runledger_notifier_attempts_total', { reason: 'accepted' })).toBe(1);
  });

  it.concurrent.each([
    ['by their address', '127.0.0.1', (port: string) => `127.0.0.1:${port}`],
    [
      'configured by name, by another name',
      'hooks.corp.example',
      (port: string) => `nats.corp.example:${port}`,
    ],
  ])('does not allow the services of Runledger %s', async (_how, host, own) => {
    await using listener = await rawReceiver(() => undefined);
    const port = String(listener.port);
    await using dns = await stubDns({
      'hooks.corp.example': ['127.0.0.1'],
      'nats.corp.example': ['127.0.0.1'],
    });
    await using bed = await openTestBed();
    await using running = await bed.start({
      allow: ['loopback', 'hooks.corp.example'],
      ownServices: [own(port)],
      dnsServers: [dns.server],
    });
    const { attempts: tries } = await attemptsOf(bed, await bed.succeed(`http://${host}:${port}/hook`));
    expect(tries).toMatchObject([
      { ...ended, message: expect.stringMatching(/a service of Runledger itself/) },
    ]);
    expect(listener.taken()).toBe(0);
    expect(await running.metric('runledger_notifier_attempts_total', { reason: 'forbidden' })).toBe(1);
  });
});
