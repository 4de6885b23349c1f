import { aRun, assigned, cancelRequested, queued } from '@runledger/testing/run-events';
import { runEventSubject } from '@runledger/contracts/events/subjects';
import { tcpProxy } from '@runledger/testing/servers/tcp-proxy';
import { describe, expect, it } from 'vitest';
import { append, LogFull } from '../../src/append/append.ts';
import { head, readRun } from '../../src/read/read-run.ts';
import { allStored, beginBatch, MANY, queueAtOnce } from '../fixtures/stored-together.ts';
import { aLog } from '../fixtures/test-log.ts';

const runs = (count: number) => Array.from({ length: count }, aRun);
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('appends at once', () => {
  it('are stored in few batches, each once and at its own sequence', async () => {
    await using test = await aLog();
    const keys = runs(MANY);
    const appended = await queueAtOnce(test.log, keys);
    const all = await allStored(test.log);
    expect(all.map(({ sequence }) => sequence)).toEqual(numbers(MANY));
    for (const [index, { run_id }] of keys.entries()) {
      const sequence = all.find(({ run }) => run === run_id)?.sequence;
      expect(appended[index]).toEqual({ kind: 'appended', sequence });
    }
    const batches = new Set(all.map(({ batch }) => batch).filter((batch) => batch !== ''));
    expect([1, 2]).toContain(batches.size);
    expect(all.filter(({ batch }) => batch !== '').length).toBeGreaterThan(MANY / 2);
  });

  it('are read as any others', async () => {
    await using test = await aLog();
    const keys = runs(MANY);
    await queueAtOnce(test.log, keys);
    const read = await Promise.all(keys.map((key) => readRun(test.log, key)));
    expect(read.map(({ kind }) => kind)).toEqual(keys.map(() => 'found'));
    const last = keys.at(-1) ?? aRun();
    expect(await append(test.log, assigned(last), await head(test.log, last))).toMatchObject({
      kind: 'appended',
    });
  });

  it('are sent one by one when they are few', async () => {
    await using test = await aLog();
    for (const _ of numbers(5)) await queueAtOnce(test.log, runs(16));
    const all = await allStored(test.log);
    expect(all.filter(({ batch }) => batch !== '')).toEqual([]);
    expect(all).toHaveLength(5 * 16);
  });

  it('have a conflict of their own', async () => {
    await using test = await aLog();
    const keys = runs(MANY);
    const taken = keys.filter((_, index) => index % 50 === 0);
    const before = await queueAtOnce(test.log, taken);
    const appended = await queueAtOnce(test.log, keys);
    for (const [index, { kind }] of appended.entries())
      expect(kind).toBe(index % 50 === 0 ? 'conflict' : 'appended');
    expect(appended.filter(({ kind }) => kind === 'conflict')).toEqual(
      before.map((first) => ({ kind: 'conflict', head: first.kind === 'appended' ? first.sequence : 0 })),
    );
    expect(await allStored(test.log)).toHaveLength(MANY);
  });

  it('of the same fact store it once, and all have its sequence', async () => {
    await using test = await aLog();
    const { log } = test;
    const events = runs(MANY).map((key) => queued(key));
    const stored = events.slice(0, 3);
    const before = await Promise.all(stored.map((event) => append(log, event, 0)));
    const appendAll = () => Promise.all(events.map((event) => append(log, event, 0)));
    const [first, second] = await Promise.all([appendAll(), appendAll()]);
    expect(second).toEqual(first);
    expect(first.slice(0, 3)).toEqual(before);
    const all = await allStored(log);
    expect(all).toHaveLength(MANY);
    for (const [index, event] of events.entries()) {
      const sequence = all.find((message) => message.event === event.event_id)?.sequence;
      expect(first[index]).toEqual({ kind: 'appended', sequence });
    }
  });

  it('on one head have one winner, among others and from two services', async () => {
    await using test = await aLog();
    const keys = runs(MANY);
    const firsts = await queueAtOnce(test.log, keys);
    const services = [test.log, await test.open()];
    const outcomes = await Promise.all(
      keys.map((key, index) => {
        const first = firsts[index];
        const at = first?.kind === 'appended' ? first.sequence : 0;
        return Promise.all(
          services.flatMap((log) => [append(log, assigned(key), at), append(log, cancelRequested(key), at)]),
        );
      }),
    );
    const all = await allStored(test.log);
    expect(all).toHaveLength(2 * MANY);
    for (const [index, { run_id }] of keys.entries()) {
      const sequence = all.findLast(({ run }) => run === run_id)?.sequence;
      const kinds = outcomes[index]?.map((outcome) => JSON.stringify(outcome)).toSorted();
      const lost = JSON.stringify({ kind: 'conflict', head: sequence });
      expect(kinds).toEqual([JSON.stringify({ kind: 'appended', sequence }), lost, lost, lost]);
    }
  });

  it('are stored by two services side by side, with the sequences that each is told', async () => {
    await using test = await aLog();
    const services = [test.log, await test.open()];
    const keys = services.map(() => runs(MANY));
    const appended = await Promise.all(services.map((log, index) => queueAtOnce(log, keys[index] ?? [])));
    const all = await allStored(test.log);
    expect(all.map(({ sequence }) => sequence)).toEqual(numbers(2 * MANY));
    const told = appended.flat().map((outcome) => (outcome.kind === 'appended' ? outcome.sequence : 0));
    expect(keys.flat().map(({ run_id }) => run_id)).toEqual(told.map((sequence) => all[sequence - 1]?.run));
  });

  it('are stored once when the acknowledgement of their batch is lost', async () => {
    await using test = await aLog();
    await using proxy = await tcpProxy(() => test.nats.port);
    const unlucky = await test.open(proxy.url);
    const keys = runs(MANY);
    proxy.loseNext('"batch":');
    const appended = await queueAtOnce(unlucky, keys);
    expect(proxy.lost()).toBe(1);
    const all = await allStored(test.log);
    expect(all).toHaveLength(MANY);
    for (const [index, { run_id }] of keys.entries()) {
      const sequence = all.find(({ run }) => run === run_id)?.sequence;
      expect(appended[index]).toEqual({ kind: 'appended', sequence });
    }
  });

  it('do not wait for long behind others that have no response', async () => {
    await using test = await aLog();
    await using proxy = await tcpProxy(() => test.nats.port);
    const slow = await test.open(proxy.url);
    const request = slow.nc.request.bind(slow.nc);
    const sent = new Set<string>();
    slow.nc.request = (subject, payload, options) => {
      sent.add(subject);
      return request(subject, payload, options);
    };
    proxy.stall();
    const appending = queueAtOnce(slow, runs(20));
    expect(sent.size).toBe(16);
    await expect.poll(() => sent.size, { timeout: 2_000 }).toBe(20);
    proxy.heal();
    expect((await appending).every(({ kind }) => kind === 'appended')).toBe(true);
    expect(await allStored(test.log)).toHaveLength(20);
  });
});

describe('where batches are refused, appends at once are stored one by one', () => {
  it('in a stream of an earlier release', async () => {
    await using test = await aLog();
    await test.log.jsm.streams.update('RUNS', { allow_atomic: false });
    const appended = await queueAtOnce(test.log, runs(MANY));
    expect(appended.every(({ kind }) => kind === 'appended')).toBe(true);
    const all = await allStored(test.log);
    expect(all).toHaveLength(MANY);
    expect(all.filter(({ batch }) => batch !== '')).toEqual([]);
  });

  it('while others have begun as many as a stream may have', async () => {
    await using test = await aLog();
    await Promise.all(
      numbers(50).map((n) => beginBatch(test.log, `open-${n}`, { subject: `runs.nobody.${n}`, bytes: 1 })),
    );
    const appended = await queueAtOnce(test.log, runs(MANY));
    expect(appended.every(({ kind }) => kind === 'appended')).toBe(true);
    const all = await allStored(test.log);
    expect(all).toHaveLength(MANY);
    expect(all.filter(({ batch }) => batch !== '')).toEqual([]);
  });

  it('in a full log, as many as there is room for', async () => {
    await using test = await aLog({ runsMaxBytes: 100 * 1024 });
    const keys = runs(MANY);
    const outcomes = await Promise.allSettled(keys.map((key) => append(test.log, queued(key), 0)));
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    for (const outcome of refused) expect(outcome).toMatchObject({ reason: expect.any(LogFull) });
    const all = await allStored(test.log);
    expect(refused.length).toBeGreaterThan(50);
    expect(all.length).toBeGreaterThan(30);
    expect(all).toHaveLength(MANY - refused.length);
  });
});

it('what a service that died had begun to store is not stored, and holds up nobody', async () => {
  await using test = await aLog();
  const event = queued(aRun());
  await beginBatch(test.log, 'of-a-dead-one', {
    subject: runEventSubject(event),
    bytes: 1,
    id: event.event_id,
  });
  expect(await append(test.log, event, 0)).toEqual({ kind: 'appended', sequence: 1 });
  const appended = await queueAtOnce(test.log, runs(MANY));
  expect(appended.every(({ kind }) => kind === 'appended')).toBe(true);
  expect(await allStored(test.log)).toHaveLength(MANY + 1);
});
