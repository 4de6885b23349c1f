import { isEnded } from '@runledger/contracts/fold/run';
import type { Check } from '../evidence/evidence.ts';
import { lastOf } from '../evidence/logged-run.ts';
import { isLimited } from '../faults/limit-changes.ts';

const guarantee = 'A run ends for lack of room only while a store is full, and the reason names the store.';

/** How the messages of ends name what is full. */
const NAMED = /RUNS|OUTPUTS|BLOBS|UPLOADS|RUNLEDGER_[A-Z_]+|[a-z]+MaxBytes|log has no room|store of/;

/** The organisation has used up its own part. */
const OWN_QUOTA = /RUNLEDGER_QUOTA_[A-Z_]+/;

export const fullStores: Check = ({ runs, limits, glutton_id }) =>
  [...runs].flatMap(([run, logged]) => {
    const last = lastOf(logged);
    if (last === undefined || !isEnded(last) || last.end_reason !== 'storage_full') return [];
    const span = { from: Date.parse(last.created_at), to: Date.parse(last.ended_at) };
    if (OWN_QUOTA.test(last.error?.message ?? '') && logged.key.org_id === glutton_id) return [];
    if (!isLimited(limits, ['full', 'nearly_full'], span))
      return [
        {
          guarantee,
          run,
          message: `It ended as storage_full, but no store was full: ${last.error?.message}`,
        },
      ];
    if (!NAMED.test(last.error?.message ?? ''))
      return [{ guarantee, run, message: `Its end does not say what is full: ${last.error?.message}` }];
    return [];
  });
