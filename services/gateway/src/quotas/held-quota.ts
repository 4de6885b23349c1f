import type { OrgId } from '@runledger/contracts/ids';

export interface HeldQuotaOptions {
  /** How many an organisation may hold at once, at this gateway. */
  readonly limit: number;
  readonly onRefused: (org_id: OrgId) => void;
}

/** Limits what each organisation holds at this gateway, for a time, such as its open streams. */
export interface HeldQuota {
  readonly limit: number;
  /** Whether the organisation holds as many as it may. Call it before `hold`, without an await in between. */
  readonly refuses: (org_id: OrgId) => boolean;
  /** Disposing it, once, gives it back. */
  readonly hold: (org_id: OrgId) => Disposable;
  /** How many the organisation holds. */
  readonly used: (org_id: OrgId) => number;
}

export const heldQuota = ({ limit, onRefused }: HeldQuotaOptions): HeldQuota => {
  const holders = new Map<OrgId, number>();
  const used = (org_id: OrgId): number => holders.get(org_id) ?? 0;
  return {
    limit,
    used,
    refuses: (org_id) => {
      const isFull = used(org_id) >= limit;
      if (isFull) onRefused(org_id);
      return isFull;
    },
    hold: (org_id) => {
      holders.set(org_id, used(org_id) + 1);
      return {
        [Symbol.dispose]: () => {
          const left = used(org_id) - 1;
          if (left > 0) holders.set(org_id, left);
          else holders.delete(org_id);
        },
      };
    },
  };
};
