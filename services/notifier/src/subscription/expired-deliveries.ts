import type { EventLog } from '@runledger/event-log/connect/event-log';
import { sleep } from '@runledger/resilience/abort';
import type { NotifierInput } from '../core/state/input.ts';
import { deliveryIn } from '../effects/pending-deliveries.ts';
import { readExpired } from '../timers/follow-timers.ts';

export interface ExpiryOptions {
  readonly log: EventLog;
  readonly now: () => Date;
  readonly take: (input: NotifierInput) => void;
  /** How many deliveries are being given up right now. */
  readonly countExpiring: () => number;
  readonly signal: AbortSignal;
}

/** Given up in one search; the others in the next one. */
const MAX_EXPIRED = 1_000;
const MAX_AT_ONCE = 32;
const CHECK_AGAIN_MS = 20;

/** Has deliveries given up that expired while they were deferred, or had no room in memory. @throws what ends the reading */
export const giveUpExpired = async (
  { log, now, take, countExpiring, signal }: ExpiryOptions,
  partition: number,
): Promise<void> => {
  for (const pending of await readExpired(log, partition, now(), MAX_EXPIRED)) {
    while (countExpiring() >= MAX_AT_ONCE && !signal.aborted) await sleep(CHECK_AGAIN_MS, signal);
    if (signal.aborted) return;
    take({ type: 'expired_found', delivery: deliveryIn(pending, pending.state, true) });
  }
};
