import type { DeliveryAttemptResult } from '@runledger/contracts/events/webhook-event';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { stubDns } from '@runledger/testing/stand-ins/stub-dns';
import { describe, expect, it } from 'vitest';
import { aReceiver, status } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBedOnOwnBroker, type RunningNotifier, type TestBed } from '../fixtures/test-bed.ts';
import { countOpen, expectAllDelivered, expectTidy, freePort, succeedOften } from '../fixtures/breakers.ts';
import { retryOf } from '../fixtures/attempts-of.ts';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { recordingProxy } from '../fixtures/recording-proxy.ts';
import { storedDeliveries } from '../fixtures/stored-timers.ts';

/** More than open a breaker when they are charged. */
const MANY = 8;

/** Each waits, though no try was used up, and nobody is charged. */
const expectNobodyCharged = async (
  bed: TestBed,
  running: RunningNotifier,
  keys: readonly RunKey[],
  reason: DeliveryAttemptResult,
): Promise<void> => {
  for (const key of keys) {
    const { attempts: tries, state, waitMs } = await retryOf(bed, key);
    expect(tries).toMatchObject([{ try: 1, reason, status: null }]);
    expect(state).toMatchObject({ state: 'retrying', tries: 0, last_reason: reason });
    expect(waitMs).toBeGreaterThan(11_900);
  }
  expect(await countOpen(running)).toBe(0);
  expect(await storedDeliveries(bed.log)).toMatchObject({ wait: keys.length, deferred: 0 });
};

/** What was not tried for our own reasons is accepted by the first try that counts. */
const expectFirstAttemptRecorded = async (bed: TestBed, keys: readonly RunKey[]): Promise<void> => {
  await expectAllDelivered(bed, keys);
  for (const key of keys) expect(await bed.webhook(key)).toMatchObject({ status: 'success', tries: 1 });
};

/** A failure of our own is looked at again after some 15 s. */
const timeout = 90_000;

describe('while no DNS server answers', { timeout }, () => {
  it.concurrent('no attempt counts, no breaker opens, and everything is sent once one does', async () => {
    await using receiver = await aReceiver();
    const { port } = new URL(receiver.url);
    const names = { 'hooks.corp.example': ['127.0.0.1'] };
    const server = await closedServer();
    await using bed = await openTestBedOnOwnBroker();
    await using running = await bed.start({
      allow: ['hooks.corp.example', 'loopback'],
      dnsServers: [server],
    });
    const keys = await succeedOften(bed, `http://hooks.corp.example:${port}/hook`, MANY);
    await expectNobodyCharged(bed, running, keys, 'no_dns');
    // A receiver that needs no name gets its notification meanwhile.
    const byAddress = await bed.succeed(`${receiver.url}/hook`);
    await expectAllDelivered(bed, [byAddress]);

    await using dns = await stubDns(names, { port: Number(server.split(':')[1]) });
    await expectFirstAttemptRecorded(bed, keys);
    expect(dns.questions('hooks.corp.example')).toBeGreaterThan(0);
    expect(receiver.arrived).toHaveLength(MANY + 1);
    await expectTidy(bed, running);
  });
});

describe('when the egress proxy', { timeout }, () => {
  it.concurrent('is down, no attempt counts, no breaker opens, and everything is sent once it is up', async () => {
    await using receiver = await aReceiver();
    const port = await freePort();
    await using bed = await openTestBedOnOwnBroker();
    await using running = await bed.start({ proxy: new URL(`http://me:p4ss@127.0.0.1:${port}`) });
    const keys = await succeedOften(bed, `${receiver.url}/hook`, MANY);
    await expectNobodyCharged(bed, running, keys, 'proxy_failed');
    expect(JSON.stringify(await retryOf(bed, keys[0] ?? fail()))).not.toContain('p4ss');
    expect(receiver.arrived).toEqual([]);

    await using proxy = await recordingProxy(receiver.url, port);
    await expectFirstAttemptRecorded(bed, keys);
    expect(receiver.arrived).toHaveLength(MANY);
    expect(new Set(proxy.asked)).toEqual(new Set([receiver.url.slice('http://'.length)]));
    await expectTidy(bed, running);
  });

  it.concurrent('is up and the receiver fails, the attempts count, and the breaker of the receiver opens', async () => {
    await using receiver = await aReceiver(status(500));
    await using proxy = await recordingProxy(receiver.url);
    await using bed = await openTestBedOnOwnBroker();
    await using running = await bed.start({ proxy: new URL(`http://127.0.0.1:${proxy.port}`) });
    await succeedOften(bed, `${receiver.url}/hook`, MANY);
    await expectSoon('the breaker to be open', async () => expect(await countOpen(running)).toBe(1));
    expect(await running.metric('runledger_notifier_attempts_total', { reason: 'server_error' })).toBe(5);
  });
});

describe('a name whose own servers', { timeout }, () => {
  it.concurrent.each([
    ['refuse', 'refused'],
    ['fail', 'servfail'],
  ] as const)('%s uses up attempts, and delays no other', async (_how, answer) => {
    await using receiver = await aReceiver();
    const { port } = new URL(receiver.url);
    await using dns = await stubDns({ 'dead.example.com': answer, 'hooks.corp.example': ['127.0.0.1'] });
    await using bed = await openTestBedOnOwnBroker();
    await using running = await bed.start({
      allow: ['hooks.corp.example', 'loopback'],
      ports: [Number(port)],
      dnsServers: [dns.server],
    });
    const key = await bed.succeed(`http://dead.example.com:${port}/hook`);
    const healthy = await succeedOften(bed, `http://hooks.corp.example:${port}/hook`, 3);
    await expectFirstAttemptRecorded(bed, healthy);
    const { attempts: tries, state } = await retryOf(bed, key);
    expect(tries).toMatchObject([{ reason: 'name_unanswered', phases: { connect: null } }]);
    expect(state).toMatchObject({ tries: 1 });
    expect(await running.metric('runledger_notifier_reconciled_total')).toBe(0);
  });

  it.concurrent('do not answer delays no other', async () => {
    await using receiver = await aReceiver();
    const { port } = new URL(receiver.url);
    await using dns = await stubDns({ 'hooks.corp.example': ['127.0.0.1'] });
    const unresponsive = Array.from({ length: 10 }, (_none, index) => `unresponsive-${index}.example.com`);
    for (const name of unresponsive) dns.set(name, 'silent');
    await using bed = await openTestBedOnOwnBroker();
    await using running = await bed.start({
      allow: ['hooks.corp.example', 'loopback'],
      ports: [Number(port)],
      dnsServers: [dns.server],
      withinMs: 60_000,
    });
    const stuck = await Promise.all(unresponsive.map((name) => bed.succeed(`http://${name}:${port}/hook`)));
    await expectSoon('the unresponsive ones to be asked', () => {
      for (const name of unresponsive) expect(dns.questions(name)).toBeGreaterThan(0);
    });
    const healthy = await succeedOften(bed, `http://hooks.corp.example:${port}/hook`, 3);
    await expectFirstAttemptRecorded(bed, healthy);
    const { attempts: tries } = await retryOf(bed, stuck[0] ?? fail());
    expect(tries).toMatchObject([{ reason: 'name_unanswered' }]);
    expect(await running.metric('runledger_notifier_reconciled_total')).toBe(0);
  });
});

/** Where no DNS server listens now. */
const closedServer = async (): Promise<string> => {
  await using dns = await stubDns();
  return dns.server;
};

const fail = (): never => {
  throw new Error('there is none');
};
