import { aRun, assigned, cancelRequested } from '@runledger/testing/run-events';
import { IS_NIGHTLY } from '@runledger/testing/random/cases';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../../src/append/append.ts';
import { LogUnavailable, type EventLog } from '../../../src/connect/event-log.ts';
import { aClusterLog, settledLeader, type ClusterLog } from '../../fixtures/cluster-log.ts';
import { allStored, MANY, queueAtOnce } from '../../fixtures/stored-together.ts';
import { writeAtOnce } from '../../fixtures/write-at-once.ts';

const KILLS = IS_NIGHTLY ? 3 : 1;

let cluster: ClusterLog;
let services: readonly EventLog[];
beforeAll(async () => {
  cluster = await aClusterLog();
  services = await Promise.all([0, 1, 2].map((broker) => cluster.openAt(broker)));
}, 120_000);
afterAll(() => cluster[Symbol.asyncDispose]());

const sequenceIn = (appended: { readonly kind: string; readonly sequence?: number } | undefined): number =>
  appended?.sequence ?? 0;

describe('appends at once to a log with three copies', () => {
  it('are stored in batches, each at the sequence that its service is told', async () => {
    const keys = services.map(() => Array.from({ length: MANY }, aRun));
    const appended = (
      await Promise.all(services.map((log, index) => queueAtOnce(log, keys[index] ?? [])))
    ).flat();
    const all = await allStored(cluster.log);
    const told = appended.map((outcome) => sequenceIn(outcome));
    expect(keys.flat().map(({ run_id }) => run_id)).toEqual(told.map((sequence) => all[sequence - 1]?.run));
    expect(all.filter(({ batch }) => batch !== '').length).toBeGreaterThan(MANY);
  });

  it('on one head have one winner', async () => {
    const keys = Array.from({ length: MANY }, aRun);
    const firsts = await queueAtOnce(cluster.log, keys);
    const outcomes = await Promise.all(
      keys.map((key, index) =>
        Promise.all(
          services.flatMap((log) => [
            append(log, assigned(key), sequenceIn(firsts[index])),
            append(log, cancelRequested(key), sequenceIn(firsts[index])),
          ]),
        ),
      ),
    );
    const last = new Map((await allStored(cluster.log)).map(({ run, sequence }) => [run, sequence]));
    for (const [index, { run_id }] of keys.entries()) {
      const head = last.get(run_id);
      const won = outcomes[index]?.filter(({ kind }) => kind === 'appended');
      const lost = outcomes[index]?.filter(({ kind }) => kind === 'conflict');
      expect(won).toEqual([{ kind: 'appended', sequence: head }]);
      expect(lost).toEqual(Array.from({ length: 5 }, () => ({ kind: 'conflict', head })));
    }
  });

  it('are not lost, and none is stored twice, when the leader is killed', async () => {
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const leader = cluster.brokers.servers[await settledLeader(cluster.log)];
      await using writing = writeAtOnce([cluster.log], 64);
      const { acknowledged } = writing;
      await expect.poll(() => acknowledged.size, { timeout: 60_000 }).toBeGreaterThan(300);
      await leader?.kill9();
      const before = acknowledged.size;
      await expect.poll(() => acknowledged.size, { timeout: 60_000 }).toBeGreaterThan(before + 300);
      await leader?.restart();
      await writing.stop();
      for (const error of writing.errors) expect(error).toBeInstanceOf(LogUnavailable);
      const all = await allStored(cluster.log);
      expect(new Set(all.map(({ event }) => event)).size).toBe(all.length);
      const stored = new Map(all.map(({ event, sequence }) => [event, sequence]));
      for (const [event, sequence] of acknowledged) expect(stored.get(event)).toBe(sequence);
    }
  }, 240_000);
});
