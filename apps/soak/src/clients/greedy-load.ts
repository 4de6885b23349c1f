import type { ClientOptions } from './client-context.ts';
import type { Taking } from './client-records.ts';
import { runGlutton } from './glutton.ts';
import type { Receiver } from './receiver.ts';
import { shareSlots, useLimitsAgain, type SharingOptions } from './share-slots.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { RecordedLog } from '../evidence/read-log.ts';
import { foldRuns, hasEnded } from '../evidence/logged-run.ts';
import type { Options } from '../options.ts';
import { randomFrom } from '@runledger/testing/random-source';

/** Organisations that take more than the others. */
export interface GreedyLoad {
  /** Resolves when all that they have queued has ended. */
  readonly take: (signal: AbortSignal) => Promise<void>;
  /** After everything has ended. */
  readonly useLimitsAgain: (signal: AbortSignal) => Promise<void>;
}

/** What runs while clients and faults come. */
export interface SoakSetup {
  readonly cluster: Cluster;
  readonly receiver: Receiver;
  readonly recorded: RecordedLog;
}

type Records = Pick<ClientOptions, 'exchanges' | 'streams' | 'drains' | 'catalogue'> & {
  readonly takings: Taking[];
};

/** They stop before the end, so that their runs end with the others. */
const PART = 0.85;

/** Each has random numbers of its own, as everything that a seed decides. */
export const greedyLoad = (
  { seed, size }: Options,
  { cluster, receiver, recorded }: SoakSetup,
  { takings, ...records }: Records,
): GreedyLoad => {
  const { glutton, gateways } = cluster;
  const forMs = size.minutes * 60_000 * PART;
  const hasOpenRuns = (org_id: string): boolean => {
    const own = recorded.messages.filter(({ subject }) => subject.startsWith(`runs.${org_id}.`));
    return [...foldRuns(own).values()].some((logged) => !hasEnded(logged));
  };
  const sharing = (signal: AbortSignal): SharingOptions => ({
    ...cluster,
    ...records,
    receiver,
    random: randomFrom(seed + 6),
    slots: size.executors,
    hasOpenRuns,
    signal,
  });
  return {
    take: async (signal) => {
      await Promise.all([
        runGlutton({
          glutton,
          gateways,
          random: randomFrom(seed + 5),
          takings,
          hasOpenRuns: () => hasOpenRuns(glutton.org_id),
          forMs,
        }),
        shareSlots(sharing(signal), forMs),
      ]);
    },
    useLimitsAgain: (signal) => useLimitsAgain(sharing(signal)),
  };
};
