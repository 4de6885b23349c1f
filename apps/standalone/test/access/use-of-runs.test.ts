import { executorId, newUuid } from '@runledger/contracts/ids';
import { ALL_FLEET } from '@runledger/contracts/events/fleet-event';
import { ALL_LIFECYCLES, executorFilter } from '@runledger/contracts/events/subjects';
import { ALL_PROGRESS, progressFilter } from '@runledger/contracts/events/progress';
import {
  lastProgress,
  lastProgressSequence,
  reportProgress,
  subscribeToProgress,
} from '@runledger/event-log/streams/activity';
import type { LogChunk } from '@runledger/contracts/run-logs';
import { eraseLogs, publishLogChunk, readLog, subscribeToLogs } from '@runledger/event-log/streams/logs';
import { append, appendOwn } from '@runledger/event-log/append/append';
import { consume, done } from '@runledger/event-log/follow/consume';
import { appendFleet } from '@runledger/event-log/append/append-fleet';
import { countDirect } from '@runledger/event-log/read/direct-read';
import { follow } from '@runledger/event-log/follow/follow';
import { sendHeartbeat, lastHeartbeat, watchHeartbeats } from '@runledger/coordination/heartbeats';
import {
  listDeadLetters,
  readDeadLetter,
  removeDeadLetter,
  storeDeadLetter,
} from '@runledger/event-log/streams/dead-letters';
import { ALL_STREAMS, awaitProvisioned } from '@runledger/event-log/provision/provision';
import { createExecutorConsumers, requestConsumer } from '@runledger/request-reply/executor-consumers';
import { respondWithQueuePositions, requestQueuePositions } from '@runledger/request-reply/queue-positions';
import { head, readRun } from '@runledger/event-log/read/read-run';
import { readStored } from '@runledger/event-log/read/run-messages';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { NO_CONTENT, type SliceLine } from '@runledger/contracts/slices/slice';
import { captureSlice, type SliceRequest } from '@runledger/event-log/slices/capture-slice';
import { recordDeliveryState } from '@runledger/event-log/streams/delivery-attempts';
import { tailRuns } from '@runledger/event-log/follow/tail-runs';
import { storageUse, streamSizes } from '@runledger/event-log/provision/stream-sizes';
import { requestRedrive, respondToRedrives, taken } from '@runledger/request-reply/redrive';
import { requestInstances, respondAsInstance } from '@runledger/request-reply/instances';
import { requestReceivers, respondWithReceivers } from '@runledger/request-reply/receivers';
import { streamsOf } from '@runledger/broker-access/service-permissions';
import { aRun, assigned, queued, started } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { webhookStarted } from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aGuardedBroker, CONTRACTS, type GuardedBroker } from './a-guarded-broker.ts';

const A = executorId('a.000000000001');
const nothing = (): void => undefined;

let broker: GuardedBroker;
beforeAll(async () => {
  broker = await aGuardedBroker();
});
afterAll(() => broker[Symbol.asyncDispose]());

describe('with only its own key', () => {
  it.each(CONTRACTS.filter(({ role }) => role !== 'executor'))(
    'the $service checks that its streams are provisioned',
    async (contract) => {
      const log = await broker.open(contract.service as 'gateway');
      const streams = streamsOf(contract);
      expect(streams).toContain('RUNS');
      await awaitProvisioned(log, undefined, streams);
    },
  );

  it('services together see the copies of every stream', () => {
    expect([...new Set(CONTRACTS.flatMap(streamsOf))].toSorted()).toEqual(ALL_STREAMS.toSorted());
  });

  it('services queue, assign, start and read a run', async () => {
    const [gateway, scheduler, executor, notifier] = await Promise.all([
      broker.open('gateway'),
      broker.open('scheduler'),
      broker.open('executor-a'),
      broker.open('notifier'),
    ]);
    const key = aRun();
    const handed: string[] = [];
    using consumers = createExecutorConsumers(scheduler);
    expect(consumers).toBeDefined();
    await scheduler.nc.flush();
    await using consumption = await consume(
      executor,
      {
        name: 'executor-a',
        stream: 'RUNS',
        subjects: [executorFilter(A)],
        deliver: 'new',
        owner: {
          id: A,
          owns: (subject) => subject.endsWith(A),
          create: async () => expect(await requestConsumer(executor, A, 2_000)).toBe(true),
        },
      },
      async ({ subject }) => {
        handed.push(subject);
        return done;
      },
    );
    const first = await append(gateway, queued(key), 0);
    const second = await append(scheduler, assigned(key, { executor: A }), await head(scheduler, key));
    expect([first.kind, second.kind]).toEqual(['appended', 'appended']);
    await waitFor('the assignment', () => handed.length === 1);
    expect(consumption.state()).toEqual({ ok: true });
    const at = second.kind === 'appended' ? second.sequence : 0;
    expect(await appendOwn(executor, started(key, 1, A), at)).toMatchObject({ kind: 'appended' });
    expect(await appendOwn(executor, started(key, 1, A), 1)).toMatchObject({ kind: 'conflict' });
    for (const log of [gateway, scheduler, notifier]) {
      expect(await readRun(log, key)).toMatchObject({ kind: 'found', run: { status: 'running' } });
      expect(await readStored(log, 1)).toBeDefined();
      expect((await runsIdentity(log)).stream).toBe('RUNS');
    }
    expect(await append(notifier, webhookStarted(key), 0)).toMatchObject({ kind: 'appended' });
  });

  it('services follow and tail streams', async () => {
    const [gateway, scheduler, notifier] = await Promise.all([
      broker.open('gateway'),
      broker.open('scheduler'),
      broker.open('notifier'),
    ]);
    for (const [log, stream, subjects] of [
      [gateway, 'RUNS', [ALL_LIFECYCLES]],
      [scheduler, 'RUNS', [ALL_LIFECYCLES]],
      [scheduler, 'FLEET', [ALL_FLEET]],
      [notifier, 'RUNS', [ALL_LIFECYCLES]],
      [notifier, 'ACTIVITY', [ALL_PROGRESS]],
    ] as const) {
      const caughtUp = Promise.withResolvers<undefined>();
      await using following = await follow(log, {
        stream,
        subjects,
        after: 0,
        onBatch: async () => undefined,
        onCaughtUp: () => caughtUp.resolve(undefined),
      });
      await caughtUp.promise;
      expect(following.state()).toEqual({ ok: true });
    }
    await using tail = await tailRuns(gateway, { onMessage: nothing, onGap: nothing });
    expect(tail.state()).toEqual({ ok: true });
  });

  it('an executor sends heartbeats, and the scheduler receives them', async () => {
    const [scheduler, executor] = await Promise.all([broker.open('scheduler'), broker.open('executor-a')]);
    const fact = {
      version: 1,
      event_id: newUuid(),
      executor_id: A,
      time: '2026-01-01T00:00:00.000Z',
    } as const;
    await appendFleet(executor, { type: 'ExecutorDraining', ...fact });
    await appendFleet(scheduler, {
      type: 'ExecutorLost',
      ...fact,
      event_id: newUuid(),
      message: 'unresponsive',
    });
    const received: string[] = [];
    await using watching = await watchHeartbeats(scheduler, ({ executor_id }) => received.push(executor_id));
    await sendHeartbeat(executor, { executor_id: A, count: 1, draining: false, runs: [] }, 10_000);
    await waitFor('the heartbeat', () => received.includes(A));
    expect(watching).toBeDefined();
    expect(await lastHeartbeat(scheduler, A)).toMatchObject({ heartbeat: { count: 1 } });
  });

  it('an executor sends progress, the gateway subscribes to it, and services read it', async () => {
    const [gateway, executor, notifier] = await Promise.all([
      broker.open('gateway'),
      broker.open('executor-a'),
      broker.open('notifier'),
    ]);
    const key = aRun();
    const seen: number[] = [];
    const unwatch = subscribeToProgress(gateway, key, (_attempt, _executor, { progress }) =>
      seen.push(progress),
    );
    await gateway.nc.flush();
    const report = { progress: 0.5, live_status: null, time: '2026-01-01T00:00:00.000Z' };
    reportProgress(executor, key, 1, A, report);
    await waitFor('the report', () => seen.length > 0);
    expect(await lastProgress(gateway, key, 1, A)).toMatchObject({ progress: 0.5 });
    expect(await lastProgressSequence(notifier)).toBeGreaterThan(0);
    expect(progressFilter(key)).toMatch(/progress$/);
    unwatch();
  });

  it('an executor writes the log of an attempt, and the gateway receives, reads and erases it', async () => {
    const [gateway, executor] = await Promise.all([broker.open('gateway'), broker.open('executor-a')]);
    const of = { ...aRun(), attempt: 1, executor_id: A };
    const chunk: LogChunk = { first: 0, before: 0, bytes: 6, lines: [[1, 'stdout', 'hello', false]] };
    const seen: unknown[] = [];
    const stop = subscribeToLogs(gateway, of, (by, received) => seen.push({ by, received }));
    await gateway.nc.flush();
    publishLogChunk(executor, of, 0, chunk);
    await waitFor('the chunk', () => seen.length > 0);
    stop();
    expect(seen).toEqual([{ by: of, received: chunk }]);
    expect((await readLog(gateway, of)).chunks).toEqual([chunk]);
    await eraseLogs(gateway, of);
    expect((await readLog(gateway, of)).chunks).toEqual([]);
  });

  it('the gateway sends requests to the scheduler', async () => {
    const [gateway, scheduler] = await Promise.all([broker.open('gateway'), broker.open('scheduler')]);
    using answering = respondWithQueuePositions(scheduler, (keys) =>
      keys.map(() => ({ ahead: 3, capacity: 'busy' })),
    );
    expect(answering).toBeDefined();
    await scheduler.nc.flush();
    expect(await requestQueuePositions(gateway, [aRun()], 2_000)).toEqual([{ ahead: 3, capacity: 'busy' }]);
  });

  it('the gateway hears from every process of each service, also of its own', async () => {
    const services = ['gateway', 'scheduler', 'notifier'] as const;
    using responders = new DisposableStack();
    for (const service of services) {
      for (const instance of ['one', 'two']) {
        const log = await broker.open(service);
        const own = { service, instance, startedAt: new Date(), software_version: '1', doing: () => ({}) };
        responders.use(respondAsInstance(log, { ...own, readiness: async () => ({ checks: {} }) }));
        await log.nc.flush();
      }
    }
    const gateway = await broker.open('gateway');
    for (const service of services) {
      const instances = await requestInstances(gateway, service, { totalMs: 5_000, quietMs: 500, most: 10 });
      expect(instances.map(({ instance }) => instance)).toEqual(['one', 'two']);
    }
  });

  it('the gateway hears from every notifier what it knows of receivers, and a notifier counts what waits', async () => {
    using responders = new DisposableStack();
    for (const partition of [3, 4]) {
      const log = await broker.open('notifier');
      const response = { partitions: [partition], receivers: [], more: partition === 4 };
      responders.use(respondWithReceivers(log, async () => response));
      expect(await countDirect(log, 'TIMERS', 'timers.1.https://a.*.*.*')).toBe(0);
      await log.nc.flush();
    }
    const gateway = await broker.open('gateway');
    const request = { org_id: newUuid(), host: null, origins: [] };
    const within = { totalMs: 5_000, quietMs: 500, most: 10 };
    expect(await requestReceivers(gateway, request, within)).toEqual({
      receivers: [],
      more: true,
      complete: false,
    });
  });

  it('the gateway reads the state of every stream', async () => {
    const gateway = await broker.open('gateway');
    const sizes = await streamSizes(gateway);
    expect(sizes.filter(({ size }) => size === undefined)).toEqual([]);
    expect((await storageUse(gateway))?.usedBytes).toBeGreaterThan(0);
  });

  it('consumers store dead letters', async () => {
    const stored = await readStored(await broker.open('gateway'), 1);
    if (!stored) throw new Error('nothing is stored');
    for (const [user, consumer, stream] of [
      ['gateway', 'projection', 'RUNS'],
      ['scheduler', 'scheduler', 'RUNS'],
      ['scheduler', 'scheduler', 'FLEET'],
    ] as const) {
      await storeDeadLetter(await broker.open(user), { consumer, stored, reason: 'no reason', stream });
    }
    expect(await listDeadLetters(broker.operator)).toHaveLength(3);
    const gateway = await broker.open('gateway');
    const [first] = await listDeadLetters(gateway);
    const position = first?.position ?? 0;
    expect(await readDeadLetter(gateway, position)).toEqual(first);
    await removeDeadLetter(gateway, position);
    expect(await listDeadLetters(gateway)).toHaveLength(2);
  });

  it.each([
    ['gateway', 'gateway'],
    ['scheduler', 'scheduler'],
    ['executor.a', 'executor-a'],
  ] as const)('the gateway has the %s handle a message again', async (who, user) => {
    const [gateway, service] = await Promise.all([broker.open('gateway'), broker.open(user)]);
    using responder = respondToRedrives(service, who, async () => taken('it is'));
    expect(responder).toBeDefined();
    await service.nc.flush();
    const request = { stream: 'RUNS' as const, sequence: 1 };
    expect(await requestRedrive(gateway, who, request, 5_000)).toEqual(taken('it is'));
  });

  it('a debugger reads stored runs', async () => {
    const log = await broker.open('debugger');
    expect((await runsIdentity(log)).lastSequence).toBeGreaterThan(0);
    expect(await readStored(log, 1)).toBeDefined();
    const subjects: string[] = [];
    log.nc.subscribe('runs.>', { callback: (_error, { subject }) => void subjects.push(subject) });
    await log.nc.flush();
    await append(await broker.open('gateway'), queued(aRun()), 0);
    await waitFor('a fact', () => subjects.length > 0);
  });

  it('a debugger takes a slice of the log', async () => {
    const [notifier, log] = await Promise.all([broker.open('notifier'), broker.open('debugger')]);
    const key = aRun();
    await append(await broker.open('gateway'), queued(key), 0);
    await recordDeliveryState(notifier, key, {
      version: 1,
      round: 1,
      state: 'deferred',
      tries: 1,
      next_try_at: null,
      last_reason: null,
      message: null,
      at: '2026-01-01T00:00:00.000Z',
    });
    const from = '2000-01-01T00:00:00.000Z';
    const always = { from, to: '2100-01-01T00:00:00.000Z', warm_up_from: from };
    const streamsOf = async (chosen: Pick<SliceRequest, 'span' | 'runs'>): Promise<ReadonlySet<unknown>> => {
      const facts: SliceLine[] = [];
      for await (const lines of captureSlice(log, {
        ...chosen,
        organisations: [],
        deployments: [],
        content: NO_CONTENT,
        now: always.to,
        pseudonym: () => 'f'.repeat(32),
        pace: async () => undefined,
      }))
        facts.push(...lines.filter(({ kind }) => kind === 'fact'));
      return new Set(facts.map((line) => line.kind === 'fact' && line.stream));
    };
    const all = new Set(['RUNS', 'FLEET', 'DELIVERY_ATTEMPTS']);
    expect(await streamsOf({ span: always, runs: [] })).toEqual(all);
    expect(await streamsOf({ span: null, runs: [key.run_id] })).toEqual(all);
  });

  it('nothing was refused', () => {
    expect(broker.refusals).toEqual([]);
  });
});
