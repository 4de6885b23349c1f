import type { OrgId } from '@runledger/contracts/ids';

export interface HeldQuotaOptions<Holder extends string> {
  /** How many a holder may have at once, at this gateway. */
  readonly limit: number;
  readonly onRefused: (holder: Holder) => void;
}

/** Limits what each organisation, or another holder, has at this gateway for a time, such as open streams. */
export interface HeldQuota<Holder extends string = OrgId> {
  readonly limit: number;
  /** Whether the holder has as many as it may. Call it before `hold`, without an await in between. */
  readonly refuses: (holder: Holder) => boolean;
  /** Disposing it, once, gives it back. */
  readonly hold: (holder: Holder) => Disposable;
  /** How many the holder has. */
  readonly used: (holder: Holder) => number;
}

export const heldQuota = <Holder extends string = OrgId>({
  limit,
  onRefused,
}: HeldQuotaOptions<Holder>): HeldQuota<Holder> => {
  const holders = new Map<Holder, number>();
  const used = (holder: Holder): number => holders.get(holder) ?? 0;
  return {
    limit,
    used,
    refuses: (holder) => {
      const isFull = used(holder) >= limit;
      if (isFull) onRefused(holder);
      return isFull;
    },
    hold: (holder) => {
      holders.set(holder, used(holder) + 1);
      return {
        [Symbol.dispose]: () => {
          const left = used(holder) - 1;
          if (left > 0) holders.set(holder, left);
          else holders.delete(holder);
        },
      };
    },
  };
};
