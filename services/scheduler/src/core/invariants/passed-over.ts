import type { Assign } from '../decisions/decision.ts';
import { isBefore, isLess, shareWithSlot, type Sharing } from './sharing.ts';
import type { Circumstances } from './waits-beside-slot.ts';

/**
 * Who should have had the slot, in words: somebody below its fair share, whose share is lower, or a run that comes before the other one in
 * their deployment.
 */
export const passedOver = (
  sharings: readonly Sharing[],
  { run }: Assign,
  { clock }: Circumstances,
): string | undefined => {
  for (const { pool, sharers, next, fairShare } of sharings) {
    const got = shareWithSlot(next);
    for (const one of sharers) {
      const share = shareWithSlot(one);
      if (one.able.length === 0 || isLess(fairShare, share) || !isLess(share, got)) continue;
      return `${next.name} with ${next.slots} slots of weight ${next.weight} passed over ${one.name} with ${one.slots} of weight ${one.weight} for ${pool}`;
    }
  }
  const first = sharings.at(-1)?.next.able.find((one) => isBefore(one.run, run, clock.instantOf));
  return first && `${run.run_id} passed over ${first.key.run_id}, which comes first in its deployment`;
};
