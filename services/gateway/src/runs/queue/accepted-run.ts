import type { RunId } from '@runledger/contracts/ids';
import type { Acceptance } from './accept-run.ts';
import { Refused } from '../../http/refusal.ts';

/** Runs leave a full queue as they begin, which no retry hastens. */
const RETRY_AFTER_S = 5;

/** What a client is told of its run. @throws {Refused} when it has none */
export const acceptedRun = (acceptance: Acceptance, onQueued: () => void): { run_id: RunId } => {
  switch (acceptance.kind) {
    case 'accepted':
      onQueued();
      return { run_id: acceptance.run_id };
    case 'accepted_before':
      return { run_id: acceptance.run_id };
    case 'key_taken':
      throw new Refused({
        kind: 'conflict',
        why: 'The organisation used this Idempotency-Key for another request, so nothing was queued: send a new key with this one, or the first request again',
      });
    case 'log_nearly_full':
      throw new Refused({
        kind: 'unavailable',
        why: 'The log is nearly full and takes no new runs; those that were accepted go on. Nothing was queued',
      });
    case 'queue_full':
      throw new Refused({
        kind: 'too_many',
        why: 'The organisation has as many queued runs as it may have, so nothing was queued: try again when some of them have begun, or cancel some',
        retryAfterS: RETRY_AFTER_S,
      });
    case 'views_away':
      throw new Refused({
        kind: 'unavailable',
        why: 'The store of older runs cannot be reached now, so whether this Idempotency-Key was used is not known. Nothing was queued: try again with the same key',
      });
    case 'unreadable':
      throw new Refused({
        kind: 'unavailable',
        why: `The run of this Idempotency-Key cannot be read now: ${acceptance.why}`,
      });
  }
};
