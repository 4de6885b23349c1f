import { originOf, PARTITIONS } from '@runledger/contracts/deliveries/timers';
import { appendAll, runOfHost } from './runs.ts';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { storeOpening, storePosition, deferDelivery } from '../src/timers.ts';
import { queued, timedOut } from '@runledger/testing/run-events';
import { atOnce, range } from './at-once.ts';
import type { Receivers } from './receivers.ts';

export interface Dead {
  readonly hosts: number;
  /** Deferred deliveries of all of them together. */
  readonly deferred: number;
  /** Their breakers are to be probed over this many seconds from now on. */
  readonly probedWithinS: number;
}

/** How often their breakers opened: the time that they are open for has reached its longest. */
const OPENS = 6;
const AT_ONCE = 256;

/** Leaves the log as a notifier leaves it that found these receivers dead, so that the next one takes over. */
export const deferDeliveries = async (
  log: EventLog,
  receivers: Receivers,
  { hosts, deferred, probedWithinS }: Dead,
): Promise<void> => {
  const due_at = new Date().toISOString();
  const expires_at = new Date(Date.now() + 518_400_000).toISOString();
  await atOnce(AT_ONCE, range(deferred), async (n) => {
    const host = n % hosts;
    const key = runOfHost(host);
    const webhook = receivers.url('dead', host, key.run_id);
    const sequence = await appendAll(log, [queued(key, { webhook }), timedOut(key, 'start_deadline')]);
    const origin = originOf(new URL(webhook));
    await deferDelivery(log, {
      version: 1,
      ...key,
      origin,
      round: 1,
      tries: 1,
      due_at,
      expires_at,
      sequence,
    });
  });
  const { created, lastSequence } = await runsIdentity(log);
  for (const partition of range(PARTITIONS)) {
    const all = { runs: lastSequence, activity: 0, swept: lastSequence, left: 0 };
    await storePosition(log, partition, { version: 1, created, ...all });
  }
  await atOnce(AT_ONCE, range(hosts), async (host) => {
    const origin = originOf(new URL(receivers.url('dead', host, '')));
    const until = new Date(Date.now() + ((host + 1) / hosts) * probedWithinS * 1_000).toISOString();
    // The origin cannot be reached; each organisation there has a reminder of its deferred deliveries.
    await storeOpening(log, { version: 1, origin, org_id: null, opens: OPENS, until });
    await storeOpening(log, { version: 1, origin, org_id: runOfHost(host).org_id, opens: 0, until });
  });
};
