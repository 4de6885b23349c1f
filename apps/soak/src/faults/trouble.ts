import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from '../cluster/cluster.ts';
import type { Part } from '../cluster/part.ts';
import { readLog } from '../evidence/read-log.ts';
import {
  archiveSchedule,
  hasArchiveStore,
  injectArchiveFaults,
  type ArchiveTrouble,
} from './archive-faults.ts';
import { brokerFaults, type BrokerFault, injectBrokerFaults, type BrokerFaultMade } from './broker-faults.ts';
import { faultSchedule, type Fault, injectFaults } from './fault-schedule.ts';
import type { Promises } from '../evidence/evidence.ts';
import { changeLimits } from './change-limits.ts';
import { type LimitChange, isForgetful, limitSchedule } from './limit-changes.ts';
import type { Options } from '../options.ts';
import { trespass, type Trespass } from './trespass.ts';
import { randomFrom } from '@runledger/testing/random-source';
import type { Size } from '../size.ts';

/** Everything that a seed does to a cluster. */
export interface Trouble {
  readonly words: string;
  readonly promises: Promises;
  /** Begins now. Resolves when all of it is over, with what was done. */
  readonly inject: () => Promise<InjectedTrouble>;
}

/** What was done, and what came of it. */
export interface InjectedTrouble {
  readonly limits: readonly LimitChange[];
  readonly trespasses: readonly Trespass[];
  readonly brokerFaults: readonly BrokerFaultMade[];
  readonly archive: ArchiveTrouble;
}

/** Each kind has random numbers of its own, so that a change of one does not change the others. */
export const troubleOf = (
  options: Options,
  cluster: Cluster,
  endedRuns: () => ReadonlySet<string>,
): Trouble => {
  const { seed, size } = options;
  const faults = faultsOf(options, cluster.parts);
  const limits = limitSchedule(randomFrom(seed + 4), size, forgets(options));
  const { parts, log } = cluster;
  const { shortLogAgeMs } = size;
  const databaseLosesData = losesData(faults);
  const loses = [
    ...(limits.some(({ kind }) => kind === 'forgetful') ? ['the log forgets'] : []),
    ...(databaseLosesData ? ['the database loses its data'] : []),
  ];
  const ofArchive = hasArchiveStore(seed)
    ? archiveSchedule(randomFrom(seed + 7), size, forgets(options))
    : [];
  const ofBrokers = brokerFaultsOf(options, parts).take(size.leastBrokerFaults).toArray();
  return {
    words: `${faults.length} faults, ${ofArchive.length} of the archive${ofBrokers.length > 0 ? `, ${ofBrokers.length} or more of the brokers` : ''} and ${limits.length} changes of limits, where ${loses.join(' and ') || 'nothing is lost'},`,
    promises: {
      limits,
      databaseLosesData,
      brokerFaults: ofBrokers,
      archive: ofArchive.map(({ kind }) => kind),
    },
    inject: async () => {
      const made: LimitChange[] = [];
      const brokersDone = injectInCluster(options, cluster);
      const archiveDone = injectArchiveFaults(ofArchive, cluster, endedRuns);
      const over = Promise.all([
        injectFaults(faults, parts),
        brokersDone,
        archiveDone,
        changeLimits(limits, { log, readRuns: () => readLog(log), shortLogAgeMs, made }),
      ]);
      const trespasses = await trespassUntil(over, cluster);
      return { limits: made, trespasses, brokerFaults: await brokersDone, archive: await archiveDone };
    },
  };
};

const TRESPASS_EVERY_MS = 60_000;

const trespassUntil = async (over: Promise<unknown>, cluster: Cluster): Promise<Trespass[]> => {
  const all: Trespass[] = [];
  const state = { isOver: false };
  const ended = over.then(() => void (state.isOver = true));
  do {
    all.push(...(await trespass(cluster)));
    await Promise.race([ended, pause(TRESPASS_EVERY_MS, undefined, { ref: false })]);
  } while (!state.isOver);
  return all;
};

const faultsOf = ({ seed, size }: Options, parts: readonly Part[]): Fault[] => {
  const faults = faultSchedule(
    randomFrom(seed + 1),
    parts.filter((part) => !isClustered(part, size)).map(({ name }) => name),
    size,
  );
  if (!forgets({ seed, size })) return faults;
  const brokers = new Set(parts.flatMap(({ name, role }) => (role === 'broker' ? [name] : [])));
  return faults.map((fault) =>
    fault.kind === 'kill' && fault.parts.some((part) => brokers.has(part))
      ? { ...fault, kind: 'stop' }
      : fault,
  );
};

/** The first `restore` only makes the copy. */
const losesData = (faults: readonly Fault[]): boolean =>
  faults.some(({ kind }) => kind === 'empty') || faults.filter(({ kind }) => kind === 'restore').length > 1;

/**
 * After a SIGKILL nats-server (2.15.1) may find messages again that had expired, if the age was raised since then. And each broker
 * of a cluster forgets by itself.
 */
const forgets = ({ seed, size }: Pick<Options, 'seed' | 'size'>): boolean =>
  isForgetful(seed) && size.brokers === 1;

/** Its faults are of a kind of their own: what it must survive depends on the others. */
const isClustered = ({ role }: Part, { brokers }: Size): boolean => role === 'broker' && brokers > 1;

/** None with a single broker. */
const brokerFaultsOf = (
  { seed, size }: Options,
  parts: readonly Part[],
): IteratorObject<BrokerFault, undefined> => {
  const brokers = parts.filter((part) => isClustered(part, size));
  if (brokers.length === 0) return Iterator.from<BrokerFault>([]);
  return brokerFaults(
    randomFrom(seed + 3),
    size,
    brokers.some(({ hasDisk }) => hasDisk),
  );
};

const injectInCluster = async (
  options: Options,
  { parts, log }: Cluster,
): Promise<readonly BrokerFaultMade[]> => {
  const { minutes, leastBrokerFaults } = options.size;
  return injectBrokerFaults(brokerFaultsOf(options, parts), {
    brokers: parts.filter((part) => isClustered(part, options.size)),
    log,
    forMs: minutes * 60_000,
    least: leastBrokerFaults,
  });
};
