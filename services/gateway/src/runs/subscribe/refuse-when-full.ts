import { Refused } from '../../http/refusal.ts';
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
        code: 'gateway_streams_full',
        why: 'This gateway has reached its limit of open streams. Try again, or poll the run',
      });
    case 'over_quota':
      throw new Refused({
        code: 'too_many_streams',
        why: 'The organisation has reached its limit of open streams and waiting reads at this gateway. Close some, or poll the run',
      });
    case 'over_key_limit':
      throw new Refused({
        code: 'too_many_streams',
        why: 'This API key with the keys derived from it, or their tokens, have reached the limit of open streams and waiting reads at this gateway. Close some, or poll the run',
      });
    case 'stopping':
      throw new Refused({ code: 'gateway_stopping', why: 'This gateway is stopping. Try again' });
  }
};
