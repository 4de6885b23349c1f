import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { PartitionRegistry } from './partition-registry.ts';

const RETRY_MS = 1_000;

interface MembershipTermOptions {
  readonly log: EventLog;
  readonly registry: PartitionRegistry;
  readonly partitions: number;
  /** The name of this membership. */
  readonly member: string;
  readonly ttlMs: number;
  readonly hold: (partition: number, over: AbortSignal) => Promise<void>;
  /** Aborted when another process may hold what this member held. */
  readonly lost: AbortSignal;
  /** Aborted with `lost`, and when the member leaves by itself. */
  readonly over: AbortSignal;
}

/** What a process holds during one membership. */
export interface MembershipTerm {
  held(): number[];
  /** Moves closer to a fair assignment, as far as the other members allow it. @throws {LogUnavailable} */
  step(): Promise<void>;
  /** Resolves when no partition is held. Partitions are released when the term is over. */
  ended(): Promise<void>;
}

interface Holding {
  readonly giveAway: AbortController;
  readonly done: Promise<void>;
}

export const membershipTerm = (options: MembershipTermOptions, onChange: () => void): MembershipTerm => {
  const { log, registry, partitions, member, ttlMs, over } = options;
  const holdings = new Map<number, Holding>();
  const notBefore = new Map<number, number>();

  const take = async (partition: number): Promise<void> => {
    const revision = await registry.write(partition, member, registry.claim(partition)?.revision ?? 0);
    if (revision === false || over.aborted) return;
    log.logger.debug({ member, partition }, 'a partition is held');
    const giveAway = new AbortController();
    const done = holdUntil(AbortSignal.any([giveAway.signal, over]), partition, options).then(
      async (hasFailed) => {
        if (hasFailed) notBefore.set(partition, performance.now() + RETRY_MS);
        await giveBack(partition, revision, options);
        holdings.delete(partition);
        onChange();
      },
    );
    holdings.set(partition, { giveAway, done });
  };
  const isClaimed = (partition: number): boolean => registry.claim(partition)?.holder === member;
  const mayTake = (partition: number): boolean => {
    const holder = registry.claim(partition)?.holder ?? '';
    const isFree = holder === '' || holder === member || registry.hasEnded(holder);
    return isFree && !holdings.has(partition) && performance.now() >= (notBefore.get(partition) ?? 0);
  };

  return {
    held: () => [...holdings.keys()].toSorted((one, other) => one - other),
    step: async () => {
      if (!registry.isComplete()) return;
      await registry.endUnresponsive(ttlMs, (other) => other !== member);
      await registry.lookUpHolders();
      if (!registry.isComplete()) return;
      const assigned = assignedTo(options);
      for (const [partition, { giveAway }] of holdings)
        releaseUnlessOurs(registry.claim(partition)?.holder, { partition, giveAway, member, assigned });
      const all = Array.from({ length: partitions }, (_, partition) => partition);
      const unused = all.filter((one) => isClaimed(one) && !assigned.has(one) && !holdings.has(one));
      await Promise.all([
        ...unused.map((one) => giveBack(one, registry.claim(one)?.revision ?? 0, options)),
        ...all.filter((one) => assigned.has(one) && mayTake(one)).map(take),
      ]);
      await registry.removeEnded(ttlMs);
    },
    ended: async () => {
      await Promise.all([...holdings.values()].map(({ done }) => done));
    },
  };
};

const assignedTo = ({ registry, partitions, member }: MembershipTermOptions): ReadonlySet<number> => {
  const living = [...new Set([...registry.members(), member])];
  const claimedBy = (partition: number): string | undefined => registry.claim(partition)?.holder;
  return new Set(assignPartitions(partitions, living, claimedBy).get(member));
};

/**
 * A claim that is no longer stored was lost by the broker: the partition is taken again. A claim of another member means
 * that the partition is lost already, so the abort has a reason.
 */
const releaseUnlessOurs = (
  claimedBy: string | undefined,
  held: Pick<Holding, 'giveAway'> & {
    readonly partition: number;
    readonly member: string;
    readonly assigned: ReadonlySet<number>;
  },
): void => {
  const { partition, giveAway, member, assigned } = held;
  if (claimedBy !== undefined && claimedBy !== member)
    giveAway.abort(new Error(`partition ${partition} is claimed by ${claimedBy}`));
  else if (!assigned.has(partition) || claimedBy !== member) giveAway.abort();
};

/** Whether holding ended without a request. */
const holdUntil = async (
  end: AbortSignal,
  partition: number,
  { log, member, hold }: MembershipTermOptions,
): Promise<boolean> => {
  try {
    await hold(partition, end);
    if (end.aborted) return false;
    log.logger.error({ member, partition }, 'a partition was released without a request; it is taken again');
  } catch (error) {
    log.logger.error({ err: error, member, partition }, 'a partition could not be held; trying again');
  }
  return true;
};

const giveBack = async (
  partition: number,
  revision: number,
  { log, registry, member, lost }: MembershipTermOptions,
): Promise<void> => {
  if (lost.aborted || !log.connected()) return;
  try {
    await registry.write(partition, '', revision);
  } catch (error) {
    // The next step repeats it. After the term it is not needed.
    log.logger.debug({ err: error, member, partition }, 'a partition could not be given back yet');
  }
};

/**
 * Which member should hold which partitions. The numbers of any two members differ by at most one. Processes that know the same members and
 * claims come to the same assignment, and a partition stays where it is unless its holder has more than a fair part.
 */
export const assignPartitions = (
  partitions: number,
  living: readonly string[],
  claimedBy: (partition: number) => string | undefined,
): ReadonlyMap<string, readonly number[]> => {
  const assigned = new Map(living.toSorted().map((member): [string, number[]] => [member, []]));
  const free: number[] = [];
  for (let partition = 0; partition < partitions; partition += 1) {
    (assigned.get(claimedBy(partition) ?? '') ?? free).push(partition);
  }
  const least = Math.floor(partitions / assigned.size);
  const remainder = partitions % assigned.size;
  // The remainder goes to those that have more already, so that as little as possible moves.
  const largestFirst = [...assigned.values()].toSorted(
    (one, other) => Math.min(other.length, least + 1) - Math.min(one.length, least + 1),
  );
  const wanted = largestFirst.map((part, n) => ({ part, size: n < remainder ? least + 1 : least }));
  for (const { part, size } of wanted) free.push(...part.splice(size));
  free.sort((one, other) => one - other);
  for (const { part, size } of wanted) part.push(...free.splice(0, size - part.length));
  return assigned;
};
