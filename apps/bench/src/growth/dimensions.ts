import { createOrganisation } from '@runledger/standalone/create-organisation';
import { readOperatorFile } from '@runledger/standalone/connection-files';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { queueRuns } from '../load/queue-runs.ts';
import { createDeployments, type Deployments } from '../system/deployments.ts';
import {
  callOf,
  type Api,
  type MeasuredStandalone,
  type StandaloneRequest,
} from '../system/measured-standalone.ts';

/** What may grow, and what has this size before anything is measured. */
export interface Dimension {
  readonly title: string;
  readonly sizes: readonly number[];
  /** How the standalone is started otherwise. */
  readonly changes?: (size: number) => Partial<StandaloneRequest>;
  /** Brings the standalone to this size. The clients whose runs are measured. */
  readonly fill: (system: MeasuredStandalone, size: number) => Promise<readonly Client[]>;
}

interface Client extends Api {
  readonly deployments: Deployments;
}

/** A request to cancel runs handles so many. */
const CANCELLED_AT_ONCE = 1_000;

const storeEnded = async (system: MeasuredStandalone, runs: number): Promise<void> => {
  const { waiting } = system.deployments;
  for (let left = runs; left > 0; left -= CANCELLED_AT_ONCE) {
    await queueRuns(system, waiting, Math.min(left, CANCELLED_AT_ONCE));
    const filter = { deployment_id: waiting, status: ['queued'] };
    for (let next: unknown; next !== null;) {
      const cursor = typeof next === 'string' ? { cursor: next } : {};
      next = (await system.call('/runs/cancel', { filter, ...cursor }))['next_cursor'] ?? null;
    }
  }
};

const createOrganisations = async (system: MeasuredStandalone, count: number): Promise<Client[]> => {
  const file = await readOperatorFile(system.folder);
  if (file.kind !== 'found') throw new Error(`the standalone has no operator's key: ${file.path}`);
  const { nats_url: url, nats_nkey: seed } = file.content;
  await using log = await openEventLog({ url, seed, name: 'bench' }, silentLogger);
  const clients: Client[] = [];
  for (let n = 1; n <= count; n += 1) {
    const created = await createOrganisation(log, `organisation ${n}`, () => new Date());
    const api = { url: system.url, key: created.api_key };
    const deployments = await createDeployments(callOf(api), created.deployment_id);
    clients.push({ ...api, deployments });
  }
  return clients;
};

export const DIMENSIONS: Readonly<Record<string, Dimension>> = {
  stored: {
    title: 'stored runs',
    sizes: [1_000, 10_000, 100_000, 1_000_000],
    fill: async (system, size) => {
      await storeEnded(system, size);
      return [system];
    },
  },
  waiting: {
    title: 'waiting runs',
    sizes: [10, 1_000, 100_000, 1_000_000],
    fill: async (system, size) => {
      await queueRuns(system, system.deployments.waiting, size);
      return [system];
    },
  },
  organisations: {
    title: 'organisations',
    sizes: [1, 10, 100, 1_000],
    fill: createOrganisations,
  },
  slots: {
    title: 'slots of the executor',
    sizes: [1, 4, 16, 64],
    changes: (size) => ({ slots: size }),
    fill: async (system) => [system],
  },
  executors: {
    title: 'executors that share the slots',
    sizes: [1, 2, 4, 8, 16],
    changes: (size) => ({ executors: size }),
    fill: async (system) => [system],
  },
};
