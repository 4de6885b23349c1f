import type { OrgId } from '@runledger/contracts/ids';
import type { SigningSecret } from './signing-secrets.ts';

/** What was read a moment ago, so that a notifier at full speed does not ask the broker for each webhook. */
export interface RecentSecrets {
  /** Read once for all who ask at the same time; a failure is not remembered. */
  of(org: OrgId): Promise<SigningSecret>;
  forget(org: OrgId): void;
}

const FOR_MS = 5_000;
const MOST = 10_000;

export const recentSecrets = (
  read: (org: OrgId) => Promise<SigningSecret>,
  now: () => Date,
): RecentSecrets => {
  const known = new Map<OrgId, { readonly asked: number; readonly secret: Promise<SigningSecret> }>();
  const ask = (org: OrgId): Promise<SigningSecret> => {
    const asked = { asked: now().getTime(), secret: read(org) };
    asked.secret.catch(() => {
      if (known.get(org) === asked) known.delete(org);
    });
    // A map keeps the order of insertion: the first is the one that was asked for longest ago.
    known.delete(org);
    known.set(org, asked);
    const [oldest] = known.keys();
    if (known.size > MOST && oldest !== undefined) known.delete(oldest);
    return asked.secret;
  };
  return {
    of: (org) => {
      const found = known.get(org);
      const age = found === undefined ? Number.POSITIVE_INFINITY : now().getTime() - found.asked;
      // A clock that was set back makes an age negative: then it is asked again.
      return found !== undefined && age >= 0 && age < FOR_MS ? found.secret : ask(org);
    },
    forget: (org) => {
      known.delete(org);
    },
  };
};
