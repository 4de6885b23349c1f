import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { WorkflowVersion } from '@runledger/contracts/catalogue';
import type { FleetEvent, Heartbeat } from '@runledger/contracts/fleet';
import type { FleetRequest } from '@runledger/contracts/fleet-requests';
import { executorId, newUuid, orgId, runId, type ExecutorId } from '@runledger/contracts/ids';
import { isExecuting, type Run } from '@runledger/contracts/run';
import {
  RUN_EVENTS,
  type RunEvent,
  type RunEventOf,
  type RunEventType,
} from '@runledger/contracts/run-event';
import type { RunKey } from '@runledger/contracts/subjects';
import { append, type Appended } from '@runledger/event-log/append';
import { openBucket } from '@runledger/event-log/bucket';
import { openEventLog, type EventLog } from '@runledger/event-log/event-log';
import { tellFleet } from '@runledger/event-log/fleet';
import { beat } from '@runledger/event-log/heartbeats';
import { silentLogger } from '@runledger/event-log/logger';
import { provision } from '@runledger/event-log/provision';
import { readRun } from '@runledger/event-log/read-run';
import { createMetrics, type Metrics } from '@runledger/service-kit/metrics';
import { testNats } from '@runledger/testing/nats';
import { waitFor } from '@runledger/testing/wait-for';
import { scheduleRuns, type RunningScheduler, type SchedulerSettings } from '../src/schedule-runs.ts';

/** Short, so that tests need not be patient; long enough for a busy machine. */
export const PERIOD_MS = 900;
const ORG = orgId(newUuid());
const WORKFLOW = { nodes: [{ kind: 'render', size: 512 }] };
const SHA256 = createHash('sha256').update(JSON.stringify(WORKFLOW)).digest('hex');

interface TestScheduler extends RunningScheduler {
  readonly metrics: Metrics;
}

/** A broker, provisioned, with a workflow version in its catalogue; everything that is opened is closed with it. */
export interface Cell extends AsyncDisposable {
  readonly nats: Awaited<ReturnType<typeof testNats>>;
  readonly log: EventLog;
  readonly version: string;
  /** A scheduler on a connection of its own. */
  schedule(settings?: Partial<SchedulerSettings>): Promise<TestScheduler>;
  /** An executor with one A10G slot that registers and beats. */
  executor(name: string, slots?: number): Promise<FakeExecutor>;
  queue(request?: Partial<RunEventOf<'RunQueued'>['data']>): Promise<RunKey>;
  cancel(key: RunKey): Promise<void>;
  /** Somebody asks that executors of this name get no more runs, or get runs again. */
  request(type: FleetRequest['type'], executor_name: string): Promise<void>;
  run(key: RunKey): Promise<Run>;
  events(key: RunKey): Promise<string[]>;
}

interface FakeExecutor {
  readonly id: ExecutorId;
  /** Tells a fact of the run's present attempt. */
  tell<T extends 'RunStarted' | 'RunSucceeded'>(
    key: RunKey,
    type: T,
    data: RunEventOf<T>['data'],
  ): Promise<Appended>;
  /** Waits for the run to be assigned to it. */
  assigned(key: RunKey): Promise<RunEventOf<'RunAssigned'>>;
  /** It is gone without a word; resolves when its last beat is behind it. */
  die(): Promise<void>;
  leave(): Promise<void>;
}

export const aCell = async (): Promise<Cell> => {
  await using opened = new AsyncDisposableStack();
  const nats = opened.use(await testNats());
  const connect = async (): Promise<EventLog> => openEventLog({ url: nats.url, name: 'test' }, silentLogger);
  const log = opened.use(await connect());
  await provision(log);
  const version = newUuid();
  await openBucket(log, 'CATALOGUE', WorkflowVersion).create(`workflow_versions.${ORG}.${version}`, {
    id: version,
    org_id: ORG,
    workflow_id: newUuid(),
    number: 1,
    workflow: WORKFLOW,
    sha256: SHA256,
    inputs: [],
    created_at: new Date().toISOString(),
  });

  const run = async (key: RunKey): Promise<Run> => {
    const read = await readRun(log, key);
    if (read.kind !== 'found') throw new Error(`run ${key.run_id} is ${read.kind}`);
    return read.run;
  };
  const tell = async (key: RunKey, type: RunEventType, data: object): Promise<Appended> => {
    const read = await readRun(log, key);
    const before = read.kind === 'found' ? read.run : undefined;
    const executing = before && isExecuting(before);
    const event = {
      type,
      version: 1,
      event_id: newUuid(),
      ...key,
      time: new Date().toISOString(),
      writer: { service: RUN_EVENTS[type].writer, instance: 'test' },
      attempt: before?.attempt?.number ?? 0,
      executor_id: executing ? before.attempt.executor_id : null,
      correlation_id: 'request-1',
      causation_id: null,
      traceparent: null,
      data,
      // Each caller below gives what its type needs.
    } as unknown as RunEvent;
    return append(log, event, read.kind === 'found' ? read.history.head : 0);
  };

  const kept = opened.move();
  return {
    nats,
    log,
    version,
    run,
    schedule: async (settings = {}) => {
      const own = kept.use(await connect());
      const metrics = createMetrics('scheduler');
      const defaults = {
        instance: `scheduler-${newUuid().slice(-8)}`,
        heartbeatPeriodMs: PERIOD_MS,
        cancelEnforceMs: 1_000,
        snapshotEveryMs: 3_600_000,
        snapshotEveryEvents: 1_000_000,
        workflowCacheBytes: 1_000_000,
        leaseTtlMs: 1_000,
      };
      const scheduler = await scheduleRuns(own, { ...defaults, ...settings }, metrics);
      kept.use(scheduler);
      return { ...scheduler, metrics };
    },
    executor: async (name, slots = 1) => {
      const own = kept.use(await connect());
      const executor = await joinFleet(own, name, slots);
      kept.defer(() => executor.die());
      const assigned = async (key: RunKey): Promise<RunEventOf<'RunAssigned'>> =>
        waitFor(`run ${key.run_id} to be assigned to ${name}`, async () => {
          const read = await readRun(log, key);
          const event = read.kind === 'found' ? read.facts.at(-1)?.event : undefined;
          return event?.type === 'RunAssigned' && event.executor_id === executor.id ? event : undefined;
        });
      return { ...executor, assigned, tell };
    },
    queue: async (request = {}) => {
      const key: RunKey = { org_id: ORG, run_id: runId(newUuid()) };
      await tell(key, 'RunQueued', { ...aRequest(version), ...request });
      return key;
    },
    cancel: async (key) => void (await tell(key, 'RunCancelRequested', { by: 'client', user_id: null })),
    request: async (type, executor_name) => {
      const time = new Date().toISOString();
      const request = { type, version: 1, event_id: newUuid(), executor_name, requested_by: newUuid(), time };
      // Its type is one of both, and they have the same members.
      await tellFleet(log, request as FleetRequest);
    },
    events: async (key) => {
      const read = await readRun(log, key);
      return read.kind === 'found' ? read.facts.map(({ event }) => event.type) : [];
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};

const aRequest = (version: string): RunEventOf<'RunQueued'>['data'] => ({
  user_id: newUuid(),
  origin: 'api',
  deployment_id: newUuid(),
  workflow_id: newUuid(),
  workflow_version_id: version,
  workflow_sha256: SHA256,
  machine_id: newUuid(),
  machine_name: 'farm',
  machine_type: 'program',
  machine_version: '1',
  runner: { kind: 'program', program: 'render' },
  gpu: 'A10G',
  inputs: { size: 512 },
  webhook: null,
  webhook_intermediate_status: false,
  start_deadline_s: 3_600,
  run_timeout_s: 3_600,
  max_attempts: 3,
  rerun_of: null,
});

const joinFleet = async (
  log: EventLog,
  name: string,
  slots: number,
): Promise<Pick<FakeExecutor, 'id' | 'die' | 'leave'>> => {
  const id = executorId(`${name}.${newUuid().slice(-12)}`);
  const alive = new AbortController();
  const fact = (type: FleetEvent['type'], data: object): Promise<number> =>
    tellFleet(log, {
      type,
      version: 1,
      event_id: newUuid(),
      executor_id: id,
      time: new Date().toISOString(),
      ...data,
      // Both callers below give what the type needs.
    } as FleetEvent);
  await fact('ExecutorRegistered', {
    slots: Array.from({ length: slots }, (_, slot) => ({ slot, gpu: 'A10G' })),
    machines: ['*'],
    programs: ['render'],
    public_key: 'MCowBQYDK2VwAyEA',
    software_version: '0.1.0',
  });
  const beatForEver = async (): Promise<void> => {
    for (let count = 0; !alive.signal.aborted; count += 1) {
      const heartbeat: Heartbeat = { executor_id: id, beat: count, draining: false, runs: [] };
      // A beat that the broker did not take is followed by the next one.
      await beat(log, heartbeat, PERIOD_MS * 3).catch(() => undefined);
      await pause(PERIOD_MS / 3, undefined, { signal: alive.signal }).catch(() => undefined);
    }
  };
  const beating = beatForEver();
  const die = (): Promise<void> => {
    alive.abort();
    return beating;
  };
  return {
    id,
    die,
    leave: async () => {
      await die();
      await fact('ExecutorLeft', {});
    },
  };
};
