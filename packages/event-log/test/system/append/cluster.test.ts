import type { TestNats } from '@runledger/testing/servers/nats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append, appendOwn } from '../../../src/append/append.ts';
import { newUuid } from '@runledger/contracts/ids';
import { openEventLog, type EventLog } from '../../../src/connect/event-log.ts';
import { silentLogger } from '../../../src/connect/observability.ts';
import { publish } from '../../../src/append/publish.ts';
import { head, readRun } from '../../../src/read/read-run.ts';
import { aRun, assigned, cancelRequested, queued, started } from '@runledger/testing/run-events';
import { tcpProxy } from '@runledger/testing/servers/tcp-proxy';
import { registerWhileTermsBegin } from '../../fixtures/register-while-terms-begin.ts';
import { aClusterLog, type ClusterLog } from '../../fixtures/cluster-log.ts';

let cluster: ClusterLog;
let servers: readonly TestNats[];
let log: EventLog;

beforeAll(async () => {
  cluster = await aClusterLog();
  ({ log } = cluster);
  ({ servers } = cluster.brokers);
}, 120_000);
afterAll(() => cluster[Symbol.asyncDispose]());

describe('a log with three copies', () => {
  it('lets exactly one of 16 racing writers win, connected to different servers', async () => {
    await using connections = new AsyncDisposableStack();
    const writers = await Promise.all(
      Array.from({ length: 16 }, async (_, n) => {
        const url = servers[n % 3]?.url ?? '';
        return connections.use(await openEventLog({ url, name: `writer-${n}` }, silentLogger));
      }),
    );
    const key = aRun();
    const first = await append(log, queued(key), 0);
    let expected = first.kind === 'appended' ? first.sequence : 0;
    for (let round = 1; round <= 10; round += 1) {
      const results = await Promise.all(
        writers.map((writer) => append(writer, started(key, round), expected)),
      );
      const won = results.flatMap((result) => (result.kind === 'appended' ? [result.sequence] : []));
      expect(won).toHaveLength(1);
      expected = won[0] ?? 0;
    }
    expect(await head(log, key)).toBe(expected);
  });

  it('lets one of cancel and assign win, on different subjects', async () => {
    for (let round = 0; round < 10; round += 1) {
      const key = aRun();
      const first = await append(log, queued(key), 0);
      const at = first.kind === 'appended' ? first.sequence : 0;
      const results = await Promise.all([
        append(log, cancelRequested(key), at),
        append(log, assigned(key), at),
      ]);
      expect(results.map(({ kind }) => kind).toSorted()).toEqual(['appended', 'conflict']);
    }
  });

  it('lets an executor register only with the last term, however many do while leaders change', async () => {
    const registered = await registerWhileTermsBegin(log, { executors: 64, terms: 10 });
    expect(registered).toHaveLength(64);
    for (const { term, last } of registered) expect(term).toBe(last);
  });

  it('stores an event once when its acknowledgement is lost', async () => {
    for (const { port } of servers) {
      await using proxy = await tcpProxy(() => port);
      await using unlucky = await openEventLog({ url: proxy.url, name: 'unlucky' }, silentLogger);
      const key = aRun();
      proxy.loseNext('"stream":"RUNS"');
      const result = await append(unlucky, queued(key), 0);
      expect(proxy.lost()).toBe(1);
      expect(result).toEqual({ kind: 'appended', sequence: await head(log, key) });
    }
  });

  it('recognises its own fact, or reports its sequence, when the acknowledgement was lost', async () => {
    for (const { port } of servers) {
      await using proxy = await tcpProxy(() => port);
      await using unlucky = await openEventLog({ url: proxy.url, name: 'unlucky' }, silentLogger);
      const key = aRun();
      const first = await append(log, queued(key), 0);
      const second = await append(log, assigned(key), first.kind === 'appended' ? first.sequence : 0);
      proxy.loseNext('"stream":"RUNS"');
      const at = second.kind === 'appended' ? second.sequence : 0;
      const outcomes = await appendOwn(unlucky, started(key), at);
      expect(proxy.lost()).toBe(1);
      const sequence = await head(log, key);
      expect(sequence).toBeGreaterThan(at);
      expect([
        { kind: 'appended', sequence },
        { kind: 'conflict', head: sequence },
      ]).toContainEqual(outcomes);
    }
  });

  it('reports the head, or none, to a writer without read permission, and never stores a second fact', async () => {
    for (let round = 0; round < 10; round += 1) {
      const key = aRun();
      const first = await append(log, queued(key), 0);
      const at = first.kind === 'appended' ? first.sequence : 0;
      const outcomes = await Promise.all([1, 2, 3, 4].map(() => appendOwn(log, started(key), at)));
      const sequence = await head(log, key);
      const won = outcomes.filter(({ kind }) => kind === 'appended');
      expect(won).toEqual([{ kind: 'appended', sequence }]);
      for (const lost of outcomes.filter(({ kind }) => kind === 'conflict')) {
        expect([sequence, undefined]).toContain('head' in lost ? lost.head : null);
      }
    }
  });

  it.each(['activity.a', '$KV.EXECUTORS.box', 'delivery_attempts.a'])(
    'stores a message without a fence under %s once, and reads nothing, while a copy of it is being stored',
    async (subject) => {
      const stream = await log.jsm.streams.find(subject);
      // Executors and notifiers, which write these, may not read them.
      const reads: string[] = [];
      const watching = log.nc.subscribe('$JS.API.STREAM.MSG.GET.>', {
        callback: (_error, message) => void reads.push(message.subject),
      });
      for (let round = 0; round < 10; round += 1) {
        const message = { stream, subject, data: new Uint8Array(1), id: newUuid() };
        const copies = await Promise.all(Array.from({ length: 20 }, () => publish(log, message)));
        const [first] = copies;
        expect(first?.kind).toBe('stored');
        expect(copies).toEqual(copies.map(() => first));
      }
      await log.nc.flush();
      watching.unsubscribe();
      expect(reads).toEqual([]);
    },
  );

  it('reads what was just acknowledged, from any copy', async () => {
    await using connections = new AsyncDisposableStack();
    const readers = await Promise.all(
      servers.map(async ({ url }) =>
        connections.use(await openEventLog({ url, name: 'reader' }, silentLogger)),
      ),
    );
    for (let round = 0; round < 50; round += 1) {
      const key = aRun();
      const first = await append(log, queued(key), 0);
      const second = await append(log, assigned(key), first.kind === 'appended' ? first.sequence : 0);
      if (second.kind === 'conflict') throw new Error('nobody else writes');
      for (const reader of readers) {
        const read = await readRun(reader, key, { atLeast: second.sequence });
        expect(read).toMatchObject({ kind: 'found', history: { head: second.sequence } });
      }
    }
  });
});
