import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { PartitionRegistry } from './partition-registry.ts';
import { assignPartitions } from './assign-partitions.ts';

const AGAIN_AFTER_MS = 1_000;

export interface MembershipTermOptions {
  readonly log: EventLog;
  readonly registry: PartitionRegistry;
  readonly partitions: number;
  /** The name of this membership. */
  readonly member: string;
  readonly ttlMs: number;
  readonly hold: (share: number, over: AbortSignal) => Promise<void>;
  /** Aborted when somebody else may hold what this member held. */
  readonly lost: AbortSignal;
  /** Aborted with `lost`, and when the member leaves by itself. */
  readonly over: AbortSignal;
}

/** What a member does while it is one. */
export interface MembershipTerm {
  held(): number[];
  /** Comes nearer to a fair division, as far as the others let it. @throws {LogUnavailable} */
  step(): Promise<void>;
  /** Resolves when nothing is held any more, which begins when the term is over. */
  ended(): Promise<void>;
}

interface Holding {
  readonly giveAway: AbortController;
  readonly done: Promise<void>;
}

export const membershipTerm = (options: MembershipTermOptions, onChange: () => void): MembershipTerm => {
  const { log, registry: board, partitions: shares, member, ttlMs, hold, lost, over } = options;
  const holdings = new Map<number, Holding>();
  const notBefore = new Map<number, number>();
  const all = Array.from({ length: shares }, (_, share) => share);

  const take = async (share: number): Promise<void> => {
    const revision = await board.write(share, member, board.claim(share)?.revision ?? 0);
    if (revision === false || over.aborted) return;
    log.logger.debug({ member, share }, 'a share is held');
    const giveAway = new AbortController();
    const done = holdUntilOver(share, AbortSignal.any([giveAway.signal, over])).then(async () => {
      await giveBack(share, revision);
      holdings.delete(share);
      onChange();
    });
    holdings.set(share, { giveAway, done });
  };
  const holdUntilOver = async (share: number, end: AbortSignal): Promise<void> => {
    try {
      await hold(share, end);
      if (end.aborted) return;
      log.logger.error(
        { member, share },
        'a share was let go although nobody asked for it; it is taken again',
      );
    } catch (error) {
      log.logger.error({ err: error, member, share }, 'a share could not be held; it is tried again');
    }
    notBefore.set(share, performance.now() + AGAIN_AFTER_MS);
  };
  const giveBack = async (share: number, revision: number): Promise<void> => {
    if (lost.aborted || !log.connected()) return;
    try {
      await board.write(share, '', revision);
    } catch (error) {
      // The next step does it, and after the term nobody needs it.
      log.logger.debug({ err: error, member, share }, 'a share could not be given back yet');
    }
  };
  const mayTake = (share: number): boolean => {
    const holder = board.claim(share)?.holder ?? '';
    const isFree = holder === '' || holder === member || board.hasEnded(holder);
    return isFree && !holdings.has(share) && performance.now() >= (notBefore.get(share) ?? 0);
  };

  return {
    held: () => [...holdings.keys()].toSorted((one, other) => one - other),
    step: async () => {
      if (!board.isComplete()) return;
      await board.endUnresponsive(ttlMs, (other) => other !== member);
      await board.lookUpHolders();
      if (!board.isComplete()) return;
      const living = [...new Set([...board.members(), member])];
      const claimedBy = (share: number): string | undefined => board.claim(share)?.holder;
      const mine = new Set(assignPartitions(shares, living, claimedBy).get(member));
      for (const [share, { giveAway }] of holdings) {
        // A claim that is not ours any more was lost by the broker: it is taken again.
        // One that names another is somebody else's already: that is a loss, and no wish.
        const by = claimedBy(share);
        if (by !== undefined && by !== member)
          giveAway.abort(new Error(`share ${share} is claimed by ${by}`));
        else if (!mine.has(share) || by !== member) giveAway.abort();
      }
      const unused = all.filter(
        (share) => claimedBy(share) === member && !mine.has(share) && !holdings.has(share),
      );
      await Promise.all([
        ...unused.map((share) => giveBack(share, board.claim(share)?.revision ?? 0)),
        ...all.filter((share) => mine.has(share) && mayTake(share)).map(take),
      ]);
      await board.removeEnded(ttlMs);
    },
    ended: async () => {
      await Promise.all([...holdings.values()].map(({ done }) => done));
    },
  };
};
