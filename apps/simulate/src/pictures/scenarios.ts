import { foreseenStarts, type ForeseenStart } from './foreseen-starts.ts';
import { MINUTE_MS, playScenario, type Arrivals } from './scenario.ts';
import type { PlayedRun } from '../statistics.ts';

/** The situations that docs/scheduling.md shows. Names of organisations are made up. */

/** All slots are lent to one organisation, and another one comes. */
export const LENT_SLOTS = 8;
export const lentAndTakenBack = (): PlayedRun[] =>
  playScenario({
    slots: LENT_SLOTS,
    organisations: [{ name: 'acme' }, { name: 'birch' }],
    arrivals: [
      { deployment: 'acme', fromMinute: 0, count: 90, everyMinutes: 0, minutes: [3, 6] },
      { deployment: 'birch', fromMinute: 12, count: 20, everyMinutes: 0, minutes: [3, 6] },
    ],
  });

/** Both have runs all the time. */
export const WEIGHED_SLOTS = 16;
export const weighed = (weight: number): PlayedRun[] =>
  playScenario({
    slots: WEIGHED_SLOTS,
    organisations: [{ name: 'acme', weight }, { name: 'birch' }],
    arrivals: ['acme', 'birch'].map((deployment) => ({
      deployment,
      fromMinute: 0,
      count: deployment === 'acme' ? 200 : 140,
      everyMinutes: 0,
      minutes: [1, 3],
    })),
  });

/** One queues many runs at once, the other one a run each minute. */
export const BURST = { slots: 6, runs: 300 };
const bulkAndSingle = (bulk: string, single: string): Arrivals[] => [
  { deployment: bulk, fromMinute: 10, count: BURST.runs, everyMinutes: 0, minutes: [0.8, 1.2] },
  { deployment: single, fromMinute: 0, count: 80, everyMinutes: 1, minutes: [0.8, 1.2] },
];
export const burst = (): PlayedRun[] =>
  playScenario({
    slots: BURST.slots,
    organisations: [{ name: 'burst' }, { name: 'single runs' }],
    arrivals: bulkAndSingle('burst', 'single runs'),
  });
/** The same runs in one line: those of one deployment are served as they come. */
export const burstInOneLine = (): PlayedRun[] => {
  const runs = playScenario({
    slots: BURST.slots,
    organisations: [{ name: 'all' }],
    deployments: [{ name: 'all', organisation: 'all' }],
    arrivals: bulkAndSingle('all', 'all'),
  });
  // The burst comes in one moment, and with it one of the single runs.
  const ofBurst = new Set(
    runs.filter(({ queuedMs }) => Math.round(queuedMs / MINUTE_MS) === 10).slice(0, BURST.runs),
  );
  return runs.map((run) => ({ ...run, organisation: ofBurst.has(run) ? 'burst' : 'single runs' }));
};

/** Three priorities in a deployment that has more runs than slots for a time. */
const PRIORITIES = [10, 0, -10] as const;
export const prioritised = (): { readonly priority: number; readonly runs: readonly PlayedRun[] }[] => {
  const played = playScenario({
    slots: 4,
    organisations: [{ name: 'acme' }],
    arrivals: PRIORITIES.map((priority, n) => ({
      deployment: 'acme',
      fromMinute: n / 3,
      count: 60,
      everyMinutes: 1,
      minutes: [1.9, 2.1] as const,
      priority,
    })),
  });
  return PRIORITIES.map((priority, n) => ({
    priority,
    runs: played.filter(({ queuedMs }) => Math.round(queuedMs / (MINUTE_MS / 3)) % 3 === n),
  }));
};

/** One organisation has more runs than the fleet has slots, another one a few. */
export const LIMITED_SLOTS = 12;
export const limited = (limit?: number): PlayedRun[] =>
  playScenario({
    slots: LIMITED_SLOTS,
    organisations: [{ name: 'acme', ...(limit !== undefined && { limit }) }, { name: 'birch' }],
    arrivals: [
      { deployment: 'acme', fromMinute: 0, count: 120, everyMinutes: 0, minutes: [2, 4] },
      { deployment: 'birch', fromMinute: 5, count: 30, everyMinutes: 0.5, minutes: [2, 4] },
    ],
  });

/** Runs for three documents, of which each takes one run at a time. */
export const KEYED_SLOTS = 6;
export const DOCUMENTS = ['document 1', 'document 2', 'document 3'] as const;
export const keyed = (): PlayedRun[] =>
  playScenario({
    slots: KEYED_SLOTS,
    organisations: [{ name: 'acme' }],
    deployments: [...DOCUMENTS, 'no key'].map((name) => ({ name, organisation: 'acme' })),
    arrivals: [
      ...DOCUMENTS.map((key, n) => ({
        deployment: key,
        key,
        fromMinute: n,
        count: 6,
        everyMinutes: 0,
        minutes: [2, 5] as const,
      })),
      { deployment: 'no key', fromMinute: 4, count: 12, everyMinutes: 0, minutes: [2, 5] },
    ],
  });

/** A deployment whose runs wait, with all slots for it or with a limit. At `atMinute` it is looked at what they are told. */
export const FORESEEN = { slots: 4, limit: 2, atMinute: 60, waiting: 16 };
export const foreseen = (limit?: number): ForeseenStart[] => {
  const slots = limit ?? FORESEEN.slots;
  const runs = playScenario({
    slots: FORESEEN.slots,
    organisations: [{ name: 'acme' }],
    deployments: [
      { name: 'acme', organisation: 'acme', ...(limit !== undefined && { concurrency_limit: limit }) },
    ],
    arrivals: [
      {
        deployment: 'acme',
        fromMinute: 0,
        // Those that end until then, those that hold slots, and those that wait.
        count: Math.round((FORESEEN.atMinute / 3) * slots) + slots + FORESEEN.waiting,
        everyMinutes: 0,
        minutes: [1.5, 4.5],
      },
    ],
  });
  const seen = { atMs: FORESEEN.atMinute * MINUTE_MS, slots, isLimit: limit !== undefined };
  return foreseenStarts(runs, seen).slice(0, FORESEEN.waiting);
};

/** Runs that prefer one GPU model, and take another one after a time; others take only that one. */
export const LISTED = {
  slots: ['L4', 'L4', 'L4', 'A10G', 'A10G', 'A10G'],
  names: ['L4, then A10G', 'A10G only'],
  afterMinutes: 5,
} as const;
export const listed = (): PlayedRun[] => {
  const [both, one] = LISTED.names;
  return playScenario({
    slots: LISTED.slots,
    organisations: [{ name: 'acme' }],
    deployments: [
      {
        name: both,
        organisation: 'acme',
        gpu: 'L4',
        gpu_fallbacks: [{ gpu: 'A10G', after_s: LISTED.afterMinutes * 60 }],
      },
      { name: one, organisation: 'acme', gpu: 'A10G' },
    ],
    arrivals: [
      { deployment: both, fromMinute: 2, count: 24, everyMinutes: 0, minutes: [2, 4] },
      { deployment: one, fromMinute: 0, count: 8, everyMinutes: 1.5, minutes: [2, 4] },
    ],
  });
};

/** Two workflow versions, each loaded for some minutes into a slot that had the other one. */
export const WARM = { slots: 3, names: ['portraits', 'landscapes'], loadMinutes: 3, waitS: 120 } as const;
export const warm = (waitS: number): PlayedRun[] =>
  playScenario({
    slots: WARM.slots,
    organisations: [{ name: 'acme' }],
    deployments: WARM.names.map((name, version) => ({
      name,
      organisation: 'acme',
      version,
      ...(waitS > 0 && { warm_wait_s: waitS }),
    })),
    arrivals: WARM.names.map((deployment, n) => ({
      deployment,
      fromMinute: n / 2,
      count: 20,
      everyMinutes: 2,
      minutes: LONGEST_WARM,
      loadMinutes: WARM.loadMinutes,
    })),
  });
const LONGEST_WARM = [1, 2] as const;
/** How long it loaded: it was longer in its slot than a run that found its version. */
export const loadMs = ({ assignedMs, endedMs }: PlayedRun): number => {
  const heldMinutes = (endedMs - (assignedMs ?? endedMs)) / MINUTE_MS;
  return heldMinutes > LONGEST_WARM[1] + WARM.loadMinutes / 2 ? WARM.loadMinutes * MINUTE_MS : 0;
};
