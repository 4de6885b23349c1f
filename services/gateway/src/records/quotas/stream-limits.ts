import type { OrgId } from '@runledger/contracts/ids';
import type { Caller } from '../../door/operation.ts';
import { heldQuota, type HeldQuota } from './blob-quota.ts';

/** Who has a stream or a waiting read open. */
export interface StreamHolder {
  readonly org_id: OrgId;
  /** As the rate, the limit of a key is that of all keys derived from it. Their tokens have one together. */
  readonly family: string;
}

export const streamHolder = ({ org_id, key: { id, rate_key = id } }: Caller): StreamHolder => ({
  org_id,
  family: rate_key,
});

/** What an organisation, and each key, may have of the streams and waiting reads of this gateway. */
export interface StreamLimits {
  /** Call it before `hold`, without an await in between. */
  readonly refuses: (holder: StreamHolder) => 'over_quota' | 'over_key_limit' | undefined;
  readonly hold: (holder: StreamHolder) => Disposable;
}

export interface StreamLimitsOptions {
  readonly ofOrganisation: HeldQuota;
  readonly limitOfKey: number;
  readonly onKeyRefused: (org_id: OrgId) => void;
}

export const streamLimits = ({
  ofOrganisation,
  limitOfKey,
  onKeyRefused,
}: StreamLimitsOptions): StreamLimits => {
  const ofKey = heldQuota<string>({ limit: limitOfKey, onRefused: () => undefined });
  return {
    refuses: ({ org_id, family }) => {
      if (!ofKey.refuses(family)) return ofOrganisation.refuses(org_id) ? 'over_quota' : undefined;
      onKeyRefused(org_id);
      return 'over_key_limit';
    },
    hold: ({ org_id, family }) => {
      const held = new DisposableStack();
      held.use(ofKey.hold(family));
      held.use(ofOrganisation.hold(org_id));
      return held;
    },
  };
};
