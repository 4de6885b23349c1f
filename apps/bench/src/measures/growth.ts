import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { SyncInterval } from '@runledger/local-servers/nats-server';
import { atOnce } from '@runledger/testing/at-once';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import { append } from '@runledger/event-log/append/append';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { readRun } from '@runledger/event-log/read/read-run';
import { readOperatorFile } from '@runledger/standalone/connection-files';
import { timedOut } from '@runledger/testing/run-events';
import { createOrganisation } from '@runledger/standalone/create-organisation';
import type { Readings } from './figures.ts';
import type { Client } from './accepting.ts';
import { shortRound, type Size } from './round.ts';
import { type Deployments, createDeployments } from '../system/deployments.ts';
import {
  startStandalone,
  type MeasuredStandalone,
  type StandaloneRequest,
  callOf,
} from '../system/measured-standalone.ts';
import { QUEUE, queueBody } from '../load.ts';
import { usedSince } from './used-since.ts';

/** One state of a standalone of its own: how fast it is once it is as large as that, or has this setting. */
export const measureState = async (
  request: StandaloneRequest,
  { fill, changes = () => ({}) }: Dimension,
  state: State,
  size: ShortSize,
): Promise<Readings> => {
  const changed = { ...request, ...changes(state) };
  const round = {
    ...size,
    steadySeconds: size.closedSeconds,
    warmUpRuns: Math.max(size.warmUpRuns, changed.executors * size.warmUpRunsOfExecutor),
  };
  if (!fill) {
    await using system = await startStandalone(changed);
    return await shortRound(system, [system], round);
  }
  await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-bench-growth-'));
  const filled = await fillFolder(changed, folder.path, (system) => fill(system, Number(state)));
  const data = { folder: folder.path, deployments: filled.deployments };
  await using system = await startStandalone({ ...changed, data });
  await untilIdle(system);
  return await shortRound(system, filled.clients, round);
};

/** How long a short round takes. */
export interface ShortSize extends Pick<Size, 'closedSeconds' | 'warmUpRuns' | 'runs'> {
  readonly warmUpRunsOfExecutor: number;
}

/** What is measured is flushed as asked for. Before, that would only take longer. */
const FILLED_WITH_SYNC = '1s';

interface Filled {
  readonly deployments: Deployments;
  readonly clients: readonly Client[];
}

/** By a standalone that ends when it has nothing to do any more. So the next one starts with all that is stored. */
const fillFolder = async (
  request: StandaloneRequest,
  folder: string,
  fill: (system: MeasuredStandalone) => Promise<readonly Client[]>,
): Promise<Filled> => {
  const data = { folder, deployments: undefined };
  await using system = await startStandalone({ ...request, syncInterval: FILLED_WITH_SYNC, data });
  const clients = await fill(system);
  await untilIdle(system);
  return { deployments: system.deployments, clients };
};

/** Appends that wait for the broker at once. */
const APPENDS_AT_ONCE = 512;

/** The log of a standalone, for its operator. */
const openLogOf = async ({ folder }: MeasuredStandalone): Promise<EventLog> => {
  const file = await readOperatorFile(folder);
  if (file.kind !== 'found') throw new Error(`the standalone has no operator's key: ${file.path}`);
  const { nats_url: url, nats_nkey: seed } = file.content;
  return openEventLog({ url, seed, name: 'bench' }, silentLogger);
};

/**
 * Stores so many runs that no executor can serve: those that wait, or have waited too long. Their facts are appended as the services append
 * them, since a request for each would take minutes for what takes seconds. The first run is queued by a request, and the others are like it.
 */
const appendRuns = async (
  system: MeasuredStandalone,
  count: number,
  become: 'waiting' | 'ended',
): Promise<void> => {
  await using log = await openLogOf(system);
  const first = await queueOne(system, log);
  const one = async (): Promise<void> => {
    const run_id = runId(newUuid());
    const event = { ...first, run_id, event_id: newUuid(), correlation_id: newUuid() };
    const sequence = await stored(append(log, event, 0));
    const key = { org_id: orgId(first.org_id), run_id };
    if (become === 'ended') await stored(append(log, timedOut(key, 'start_deadline'), sequence));
  };
  await atOnce(APPENDS_AT_ONCE, Array(count - 1).keys(), one);
};

const queueOne = async (system: MeasuredStandalone, log: EventLog): Promise<RunEventOf<'RunQueued'>> => {
  const { run_id } = await system.call(QUEUE, queueBody(system.deployments.waiting));
  const { org_id } = await system.call(`/run/${String(run_id)}`);
  const read = await readRun(log, { org_id: orgId(String(org_id)), run_id: runId(String(run_id)) });
  const event = read.kind === 'found' ? read.facts[0]?.event : undefined;
  if (event?.type !== 'RunQueued') throw new Error(`run ${String(run_id)} is not in the log`);
  return event;
};

const stored = async (appending: ReturnType<typeof append>): Promise<number> => {
  const appended = await appending;
  if (appended.kind !== 'appended') throw new Error('another message of a new run was stored first');
  return appended.sequence;
};

/** A size, or a setting. */
type State = number | SyncInterval;

/** What may grow or differ, and what is so before anything is measured. */
interface Dimension {
  readonly title: string;
  readonly states: readonly State[];
  /** How the standalone is started otherwise. */
  readonly changes?: (state: State) => Partial<StandaloneRequest>;
  /** Brings the standalone to this size. The clients whose runs are measured; left out where nothing is stored before. */
  readonly fill?: (system: MeasuredStandalone, size: number) => Promise<readonly Client[]>;
}

/** Created at the same time. */
const AT_ONCE = 8;

const createOrganisations = async (system: MeasuredStandalone, count: number): Promise<Client[]> => {
  await using log = await openLogOf(system);
  return await atOnce(AT_ONCE, Array(count).keys(), async (index) => {
    const created = await createOrganisation(log, `organisation ${index + 1}`, () => new Date());
    const api = { url: system.url, key: created.api_key };
    return { key: api.key, deployments: await createDeployments(callOf(api), created.deployment_id) };
  });
};

/** What flushing costs: a dimension that does not grow. */
export const DURABILITY = 'durability';

export const DIMENSIONS: Readonly<Record<string, Dimension>> = {
  stored: {
    title: 'stored runs',
    states: [1_000, 10_000, 100_000, 1_000_000],
    fill: async (system, size) => {
      await appendRuns(system, size, 'ended');
      return [system];
    },
  },
  waiting: {
    title: 'waiting runs',
    states: [10, 1_000, 10_000, 100_000, 1_000_000],
    fill: async (system, size) => {
      await appendRuns(system, size, 'waiting');
      return [system];
    },
  },
  organisations: {
    title: 'organisations',
    states: [1, 10, 100, 1_000],
    fill: createOrganisations,
  },
  slots: {
    title: 'slots of the executor',
    states: [1, 4, 16, 64],
    changes: (state) => ({ slots: Number(state) }),
  },
  executors: {
    title: 'executors that share the slots',
    states: [1, 2, 4, 8, 16],
    changes: (state) => ({ executors: Number(state) }),
  },
  [DURABILITY]: {
    title: 'messages are flushed',
    // The last one is what nats-server does by itself.
    states: ['always', '1s', '2m'],
    changes: (state) => (typeof state === 'number' ? {} : { syncInterval: state }),
  },
};

const LOOK_EVERY_MS = 1_000;
/** The processes of an idle standalone use a part of it. */
const IDLE_MS = 300;
const IDLE_WITHIN_MS = 1_200_000;

/** Waits until what follows facts is done, such as views: then its processes use little. @throws when that takes 20 minutes */
const untilIdle = async (system: MeasuredStandalone): Promise<void> => {
  const deadline = performance.now() + IDLE_WITHIN_MS;
  for (let idle = false; !idle;) {
    if (performance.now() > deadline)
      throw new Error('the standalone is busy 20 minutes after it was filled');
    const used = usedSince(system);
    await pause(LOOK_EVERY_MS);
    idle = used().total < IDLE_MS;
  }
};
