import { createOrganisation } from '@runledger/standalone/create-organisation';
import { atOnce } from '../load/at-once.ts';
import type { Client } from '../measures/short-round.ts';
import { createDeployments } from '../system/deployments.ts';
import { callOf, type MeasuredStandalone, type StandaloneRequest } from '../system/measured-standalone.ts';
import { appendRuns, openLogOf } from './append-runs.ts';

/** What may grow, and what has this size before anything is measured. */
export interface Dimension {
  readonly title: string;
  readonly sizes: readonly number[];
  /** How the standalone is started otherwise. */
  readonly changes?: (size: number) => Partial<StandaloneRequest>;
  /** Brings the standalone to this size. The clients whose runs are measured. */
  readonly fill: (system: MeasuredStandalone, size: number) => Promise<readonly Client[]>;
}

/** Created at the same time. */
const AT_ONCE = 8;

const createOrganisations = async (system: MeasuredStandalone, count: number): Promise<Client[]> => {
  await using log = await openLogOf(system);
  const clients: Client[] = [];
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  await atOnce(AT_ONCE, numbers, async (number) => {
    const created = await createOrganisation(log, `organisation ${number}`, () => new Date());
    const api = { url: system.url, key: created.api_key };
    clients.push({ key: api.key, deployments: await createDeployments(callOf(api), created.deployment_id) });
  });
  return clients;
};

export const DIMENSIONS: Readonly<Record<string, Dimension>> = {
  stored: {
    title: 'stored runs',
    sizes: [1_000, 10_000, 100_000, 1_000_000],
    fill: async (system, size) => {
      await appendRuns(system, size, 'ended');
      return [system];
    },
  },
  waiting: {
    title: 'waiting runs',
    sizes: [10, 1_000, 10_000, 100_000, 1_000_000],
    fill: async (system, size) => {
      await appendRuns(system, size, 'waiting');
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
