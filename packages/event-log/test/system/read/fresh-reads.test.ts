import { setTimeout as pause } from 'node:timers/promises';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun, assigned, queued } from '@runledger/testing/run-events';
import { casesOf, someOf } from '@runledger/testing/random/cases';
import type { TestNats } from '@runledger/testing/servers/nats';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LogUnavailable, openEventLog, type EventLog } from '../../../src/connect/event-log.ts';
import { silentLogger } from '../../../src/connect/observability.ts';
import { withFreshReads } from '../../../src/read/fresh-reads.ts';
import { lastOfRun } from '../../../src/read/read-run.ts';
import { aClusterLog, settledLeader, type ClusterLog } from '../../fixtures/cluster-log.ts';
import { stored } from '../../fixtures/stored.ts';

let cluster: ClusterLog;
let servers: readonly TestNats[];
/** Connected to any server that runs. */
let anywhere: EventLog;
/** One for each server, and connected to no other. */
let readers: readonly EventLog[];

beforeAll(async () => {
  cluster = await aClusterLog();
  ({ log: anywhere } = cluster);
  ({ servers } = cluster.brokers);
  readers = await Promise.all(servers.map((_server, n) => readerAt(n)));
}, 120_000);
afterAll(() => cluster[Symbol.asyncDispose]());

const readerAt = async (server: number): Promise<EventLog> =>
  withFreshReads(await cluster.openAt(server), () => performance.now());

/** What was read; undefined when the log was unavailable. */
const readOrUnavailable = async (log: EventLog, key: RunKey): Promise<number | undefined> => {
  try {
    return await lastOfRun(log, key);
  } catch (error) {
    if (error instanceof LogUnavailable) return undefined;
    throw error;
  }
};

const PAUSES = casesOf(2);
/** Sent while the server is paused: it finds them before it hears of the new leader. */
const WAITING_READS = 50;
const LATER_READS = 100;

/** The present last sequence of a run, and what reads gave at a server that led the log until it missed the last append. */
const readAfterPause = async (): Promise<{ readonly present: number; readonly read: readonly number[] }> => {
  const key = aRun();
  const first = await stored(anywhere, queued(key), 0);
  const old = await settledLeader(anywhere);
  const [server, behind] = [servers[old], readers[old]];
  const [ahead, elsewhere] = [readers[(old + 1) % 3], servers[(old + 2) % 3]];
  if (!server || !behind || !ahead || !elsewhere) throw new Error(`there is no server n${old}`);
  expect(await lastOfRun(behind, key)).toBe(first);
  await using writer = await openEventLog({ url: elsewhere.url, name: 'writer' }, silentLogger);
  let present: number;
  let waiting: readonly Promise<number | undefined>[];
  try {
    await server.pause();
    present = await stored(writer, assigned(key), first);
    expect(await lastOfRun(ahead, key)).toBe(present);
    waiting = Array.from({ length: WAITING_READS }, () => readOrUnavailable(behind, key));
  } finally {
    server.resume();
  }
  const read: (number | undefined)[] = [];
  for (let reads = 0; reads < LATER_READS; reads += 1) read.push(await readOrUnavailable(behind, key));
  read.push(...(await Promise.all(waiting)));
  return { present, read: read.filter((sequence) => sequence !== undefined) };
};

describe('a server that led the log and was paused until another one led it', () => {
  it('shows no less than the others do', { timeout: 120_000 * PAUSES }, async () => {
    for (let round = 1; round <= PAUSES; round += 1) {
      const { present, read } = await readAfterPause();
      expect(read.length).toBeGreaterThan(0);
      expect(new Set(read)).toEqual(new Set([present]));
    }
  });
});

/** What each server holds, asked while it leads. */
const copies = async (): Promise<unknown[]> => {
  const found = new Map<number, unknown>();
  await waitFor(
    'every server to lead once',
    async () => {
      const leader = await settledLeader(anywhere);
      const { messages, bytes, first_seq, last_seq, num_subjects } = (await anywhere.jsm.streams.info('RUNS'))
        .state;
      found.set(leader, { messages, bytes, first_seq, last_seq, num_subjects });
      if (found.size === servers.length) return true;
      await anywhere.nc.request('$JS.API.STREAM.LEADER.STEPDOWN.RUNS');
      return false;
    },
    { withinMs: 120_000 },
  );
  return [...found.values()];
};

/** Appends and reads through every server until the faults are over. */
const readUnderFaults = async (faults: () => Promise<void>): Promise<{ reads: number; stale: unknown[] }> => {
  const over = new AbortController();
  let last: { readonly key: RunKey; readonly sequence: number } | undefined;
  const write = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const key = aRun();
      const sequence = await stored(anywhere, queued(key), 0);
      last = { key, sequence };
      last = { key, sequence: await stored(anywhere, assigned(key), sequence) };
    }
  };
  const stale: unknown[] = [];
  let reads = 0;
  const read = async (log: EventLog): Promise<void> => {
    while (!over.signal.aborted) {
      const known = last;
      const sequence = known && (await readOrUnavailable(log, known.key));
      if (!known || sequence === undefined) await pause(50);
      else {
        reads += 1;
        if (sequence < known.sequence) stale.push({ ...known, sequence });
      }
    }
  };
  const disturb = (): Promise<void> => faults().finally(() => over.abort());
  await Promise.all([write(), ...readers.map(read), disturb()]);
  return { reads, stale };
};

/** Longer than an election. */
const FAULT_MS = 8_000;
const FAULTS = someOf(['kill', 'pause', 'kill', 'pause'] as const, (_fault, n) => n < 2);

describe('while the leading server is killed and paused again and again', () => {
  it('a read through any server has all that was acknowledged before', { timeout: 240_000 }, async () => {
    const { reads, stale } = await readUnderFaults(async () => {
      for (const fault of FAULTS) {
        const server = servers[await settledLeader(anywhere)];
        if (fault === 'kill') await server?.kill9();
        else await server?.pause();
        await pause(FAULT_MS);
        if (fault === 'kill') await server?.restart();
        else server?.resume();
      }
      await settledLeader(anywhere);
    });
    expect(stale).toEqual([]);
    expect(reads).toBeGreaterThan(25 * FAULTS.length);
    const [one, ...others] = await copies();
    for (const other of others) expect(other).toEqual(one);
  });
});

describe('reads of a log that nobody writes to', () => {
  it('store a marker only once in two seconds', { timeout: 120_000 }, async () => {
    const reader = await readerAt(0);
    const key = aRun();
    await stored(anywhere, queued(key), 0);
    await settledLeader(anywhere);
    const before = (await anywhere.jsm.streams.info('RUNS')).state.messages;
    const began = performance.now();
    let reads = 0;
    while (reads < 1_000 || performance.now() - began < 5_000) {
      await Promise.all(Array.from({ length: 10 }, () => lastOfRun(reader, key)));
      reads += 10;
    }
    const tookS = (performance.now() - began) / 1_000;
    const markers = (await anywhere.jsm.streams.info('RUNS')).state.messages - before;
    expect(markers).toBeGreaterThan(0);
    expect(markers).toBeLessThanOrEqual(tookS / 2 + 2);
  });
});
