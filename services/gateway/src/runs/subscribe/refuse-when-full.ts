import type { OrgId } from '@runledger/contracts/ids';
import { Refused } from '../../http/refusal.ts';
import { overQuota } from '../../quotas/over-quota.ts';
import type { RunSubscriptions } from './run-subscriptions.ts';

/** Refuses a stream that the gateway, or the organisation, has no room for. @throws {Refused} */
export const refuseWhenFull = (subscriptions: Pick<RunSubscriptions, 'refuses'>, org_id: OrgId): void => {
  switch (subscriptions.refuses(org_id)) {
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
    case 'stopping':
      throw new Refused({ kind: 'unavailable', why: 'This gateway is stopping. Try again' });
  }
};
