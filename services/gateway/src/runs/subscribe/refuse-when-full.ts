import { Refused } from '../../http/refusal.ts';
import { overQuota } from '../../quotas/over-quota.ts';
import type { StreamHolder } from '../../quotas/stream-limits.ts';
import type { RunSubscriptions } from './run-subscriptions.ts';

/** Refuses a stream that the gateway, the organisation, or the key has no room for. @throws {Refused} */
export const refuseWhenFull = (
  subscriptions: Pick<RunSubscriptions, 'refuses'>,
  holder: StreamHolder,
): void => {
  switch (subscriptions.refuses(holder)) {
    case undefined:
      return;
    case 'too_many':
      throw new Refused({
        kind: 'unavailable',
        why: 'This gateway has reached its limit of open streams. Try again, or poll the run',
      });
    case 'over_quota':
      throw overQuota(
        'The organisation has reached its limit of open streams and waiting reads at this gateway. Close some, or poll the run',
      );
    case 'over_key_limit':
      throw overQuota(
        'This API key with the keys derived from it, or their tokens, have reached the limit of open streams and waiting reads at this gateway. Close some, or poll the run',
      );
    case 'stopping':
      throw new Refused({ kind: 'unavailable', why: 'This gateway is stopping. Try again' });
  }
};
