import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { testNatsCluster, type TestNatsCluster } from '@runledger/testing/servers/nats-cluster';
import { aRun, queued } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../../src/append/append.ts';
import { openEventLog, type EventLog } from '../../../src/connect/event-log.ts';
import { silentLogger } from '../../../src/connect/observability.ts';
import { follow } from '../../../src/follow/follow.ts';
import { createdAt } from '../../../src/read/stream-identity.ts';
import { confirmMigration, rollBack } from '../../../src/migrate/roll-back.ts';
import {
  migrate,
  type Logs,
  type MigrationOptions,
  type MigrationStep,
  type StreamProof,
} from '../../../src/migrate/migrate.ts';
import { proveCopy } from '../../../src/migrate/prove-copy.ts';
import { awaitProvisioned, provision } from '../../../src/provision/provision.ts';
import { ALL_STREAMS } from '../../../src/provision/plan-streams.ts';
import { fillStreams } from '../../fixtures/filled-streams.ts';
import { queueRun } from '../../fixtures/queued-runs.ts';
import { aLogOnOwnBroker } from '../../fixtures/test-log.ts';

const opened = new AsyncDisposableStack();
let cluster: TestNatsCluster;

beforeAll(async () => {
  cluster = opened.use(await testNatsCluster());
}, 120_000);
afterAll(() => opened.disposeAsync());

const options = (onStep: MigrationOptions['onStep'] = () => undefined): MigrationOptions => ({
  signal: AbortSignal.timeout(600_000),
  onStep,
});

interface Two extends AsyncDisposable {
  readonly logs: Logs;
  /** The old broker. */
  readonly url: string;
}

/** A filled log on one broker, and three brokers without streams. */
const oneAndThree = async (): Promise<Two> => {
  await using stack = new AsyncDisposableStack();
  const {
    log: source,
    nats: { url },
  } = stack.use(await aLogOnOwnBroker());
  await fillStreams(source);
  const target = stack.use(await openEventLog({ url: cluster.url, name: 'test' }, silentLogger));
  stack.defer(async () => {
    for (const name of ALL_STREAMS) await target.jsm.streams.delete(name).catch(() => false);
  });
  const kept = stack.move();
  return { logs: { source, target }, url, [Symbol.asyncDispose]: () => kept.disposeAsync() };
};

/** The migration ends before this step, as when it is killed. */
const stoppedAt = (step: MigrationStep, at: string): MigrationOptions =>
  options((now, stream) => {
    if (now === step && stream === at) throw new Error(`stopped at ${step} ${at}`);
  });

const MIGRATING = fileURLToPath(new URL('../../fixtures/migrating-process.ts', import.meta.url));

/** Another process moves the log, and is killed with -9 before this step. */
const killedAt = async ({ url }: Two, step: MigrationStep, at: string): Promise<void> => {
  const child = spawn(process.execPath, [MIGRATING, url, cluster.url, step, at], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [, signal] = await once(child, 'exit');
  expect(signal, `${step} ${at}`).toBe('SIGKILL');
};

/** Each step, when some of the streams are through it. */
const KILLS: readonly (readonly [MigrationStep, string])[] = [
  ['removing an earlier copy of', 'KV_KEYS'],
  ['making room for', 'KV_KEYS'],
  ['closing', 'KV_KEYS'],
  ['copying', 'KV_KEYS'],
  ['waiting for all copies of', 'all streams'],
  ['comparing', 'KV_KEYS'],
  ['marking as moved', 'KV_KEYS'],
  ['opening', 'KV_KEYS'],
];

const LARGE = 100;
const LARGE_BYTES = 128 * 1024;

const problemsOf = (proofs: readonly StreamProof[]): unknown[] =>
  proofs.filter(({ problem, digest }) => problem !== undefined || digest.source !== digest.target);

const rawMessages = async (log: EventLog, stream: string): Promise<unknown[]> => {
  const { state } = await log.jsm.streams.info(stream);
  const found = [];
  for (let seq = 1; seq <= state.last_seq; seq += 1) {
    const message = await log.jsm.streams.getMessage(stream, { seq });
    if (message) {
      const { subject, timestamp, header } = message;
      found.push([seq, subject, timestamp, [...header], Buffer.from(message.data).toString('base64')]);
    }
  }
  return found;
};

const HOUR_NS = 3_600_000_000_000;

/** Of the streams in which nothing expires meanwhile. */
const lasting = async (log: EventLog): Promise<ReadonlyMap<string, unknown[]>> => {
  const found = new Map<string, unknown[]>();
  for (const name of ALL_STREAMS) {
    const { config } = await log.jsm.streams.info(name);
    if (config.max_age === 0 || config.max_age >= HOUR_NS) found.set(name, await rawMessages(log, name));
  }
  return found;
};

describe('a log that moves from one broker to three', { timeout: 240_000 }, () => {
  it('has the same messages there, and goes on', async () => {
    await using two = await oneAndThree();
    const { source, target } = two.logs;
    const run = aRun();
    const head = await queueRun(source, run);
    const created = await createdAt(source, 'RUNS');
    // More than the broker sends ahead, and nothing that can be compressed.
    for (let n = 0; n < LARGE; n += 1)
      await source.js.publish(`$O.OUTPUTS.C.large${n}`, randomBytes(LARGE_BYTES));
    const before = new Map<string, unknown[]>();
    for (const name of ALL_STREAMS) before.set(name, await rawMessages(source, name));

    const proofs = await migrate(two.logs, options());

    expect(proofs.map(({ stream }) => stream)).toEqual(ALL_STREAMS);
    expect(problemsOf(proofs)).toEqual([]);
    for (const name of ALL_STREAMS) {
      const { config, state, cluster: brokers } = await target.jsm.streams.info(name);
      expect(await rawMessages(target, name), name).toEqual(before.get(name));
      expect([config.num_replicas, brokers?.replicas?.length], name).toEqual([3, 2]);
      expect(state.last_seq, name).toBe((await source.jsm.streams.info(name)).state.last_seq);
    }
    expect(await createdAt(target, 'RUNS')).toBe(created);

    await provision(target);
    await awaitProvisioned(target, AbortSignal.timeout(20_000));
    expect(await append(target, queued(aRun()), 0)).toMatchObject({ kind: 'appended', sequence: head + 1 });
    expect(await append(target, queued(run), 0)).toMatchObject({ kind: 'conflict', head });
  });

  it('keeps its timers, which may fire while it moves, and heartbeats may expire', async () => {
    await using two = await oneAndThree();
    const { source, target } = two.logs;
    const at = (seconds: number): { readonly specification: Date; readonly target: string } => ({
      specification: new Date(Date.now() + seconds * 1_000),
      target: `timers.fired.${seconds}`,
    });
    await source.js.publish('timers.soon', 'soon', { schedule: at(2) });
    await source.js.publish('timers.later', 'later', { schedule: at(300) });
    await source.js.publish('$KV.EXECUTORS.box', 'beat', { ttl: '1s' });

    expect(problemsOf(await migrate(two.logs, options()))).toEqual([]);

    const fired = { last_by_subj: 'timers.fired.2' };
    const message = await waitFor(
      'the timer to fire at the new brokers',
      () => target.jsm.streams.getMessage('TIMERS', fired),
      { withinMs: 60_000 },
    );
    expect(message.string()).toBe('soon');
    const later = await target.jsm.streams.getMessage('TIMERS', { last_by_subj: 'timers.later' });
    expect(later?.string()).toBe('later');
  });

  it('is refused to services and to provision at the old broker, which takes no message', async () => {
    await using two = await oneAndThree();
    const { source } = two.logs;
    await migrate(two.logs, options());
    await expect(provision(source)).rejects.toThrow(
      /RUNS takes no messages: the log was moved to other brokers/,
    );
    await expect(awaitProvisioned(source)).rejects.toThrow(/Set NATS_URL to the new brokers/);
    await expect(source.js.publish('runs.a.b', 'late')).rejects.toThrow(/jetstream is not enabled/);
    expect(await migrate(two.logs, options())).toEqual([]);
    const lost = { target: undefined, discardNewer: false };
    await expect(rollBack(source, lost)).rejects.toThrow(/Name them with --to/);
    expect(await rollBack(source, { ...lost, discardNewer: true })).toEqual([]);
    await provision(source);
  });

  it(
    'may be killed at each step: it goes back from there, and the next call goes on',
    { timeout: 480_000 },
    async () => {
      await using two = await oneAndThree();
      const { source, target } = two.logs;
      const before = await lasting(source);
      for (const [step, stream] of KILLS) {
        await killedAt(two, step, stream);
        const went = await rollBack(source, { target, discardNewer: false }).then(() => 'back', String);
        // Before anything is closed there is nothing to take back.
        expect(went, step).toMatch(/^back$|it is in use there/);
        await provision(source);
        await expect(target.js.publish('runs.a.b', 'late'), step).rejects.toThrow(/jetstream is not enabled/);
        expect(await lasting(source), step).toEqual(before);
        // The next one that is killed finds what this step left, and comes as far at least.
        await expect(migrate(two.logs, stoppedAt(step, stream))).rejects.toThrow(/stopped at/);
      }
      await expect(provision(target)).rejects.toThrow(/it is a copy that is not finished/);
      await migrate(two.logs, options());
      await provision(target);
      expect(await lasting(target)).toEqual(before);
    },
  );

  it('is not moved while a service reads it', async () => {
    await using two = await oneAndThree();
    const { source, target } = two.logs;
    const following = await follow(source, {
      stream: 'RUNS',
      subjects: ['runs.>'],
      after: 0,
      onBatch: async () => undefined,
    });
    await expect(migrate(two.logs, options())).rejects.toThrow(
      /1 of RUNS\. Nothing was changed\. Stop all gateways/,
    );
    await following[Symbol.asyncDispose]();
    expect(await queueRun(source, aRun())).toBeGreaterThan(0);
    await expect(target.jsm.streams.info('RUNS')).rejects.toThrow(/not found/);
  });

  it('is not moved over another log, and not to a single broker', async () => {
    await using two = await oneAndThree();
    const { source, target } = two.logs;
    await expect(migrate({ source, target: source }, options())).rejects.toThrow(/is a single one/);
    await provision(target, { replicas: 3 });
    await expect(migrate(two.logs, options())).rejects.toThrow(/have a stream RUNS already/);
    await expect(migrate({ source: target, target }, options())).rejects.toThrow(/one of several already/);
    expect(await queueRun(source, aRun())).toBeGreaterThan(0);
  });

  it('goes back with all that it had, until that is confirmed', async () => {
    await using two = await oneAndThree();
    const { source, target } = two.logs;
    await expect(rollBack(source, { target, discardNewer: false })).rejects.toThrow(/it is in use there/);
    await migrate(two.logs, options());
    const run = aRun();
    const head = await queueRun(target, run);
    await expect(rollBack(source, { target, discardNewer: false })).rejects.toThrow(
      /1 of RUNS\. They would be lost/,
    );
    expect(await append(target, queued(run), 0)).toMatchObject({ kind: 'conflict', head });

    expect(await rollBack(source, { target, discardNewer: true })).toEqual([{ stream: 'RUNS', messages: 1 }]);
    await provision(source);
    expect(await queueRun(source, aRun())).toBe(head);
    await expect(target.js.publish('runs.a.b', 'late')).rejects.toThrow(/jetstream is not enabled/);

    expect(problemsOf(await migrate(two.logs, options()))).toEqual([]);
    await confirmMigration(two.logs);
    await expect(rollBack(source, { target, discardNewer: true })).rejects.toThrow(/no way back/);
    await expect(provision(source)).rejects.toThrow(/moved to other brokers for good/);
    expect(await queueRun(target, aRun())).toBe(head + 1);
  });

  it('is not moved when the copy lacks a message', async () => {
    await using two = await oneAndThree();
    const { source, target } = two.logs;
    let damaged: Promise<unknown> | undefined;
    const damaging = options((step) => {
      if (step === 'comparing') damaged ??= target.jsm.streams.deleteMessage('TIMERS', 3);
    });
    await expect(migrate(two.logs, damaging)).rejects.toThrow(
      /TIMERS: message 3 \(timers\.a\.b3\) is missing at the new brokers\. The new brokers are not in use/,
    );
    await damaged;
    expect(await proveCopy(two.logs, 'FLEET', 7)).toMatchObject({ problem: undefined });
    expect(await rollBack(source, { target, discardNewer: false })).toEqual([]);
    expect(await queueRun(source, aRun())).toBeGreaterThan(0);
  });
});
