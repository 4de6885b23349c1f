import type { System } from '@runledger/contracts/http/installation/system';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { lastMessage } from '@runledger/event-log/messages/leader-read';
import { VIEW_VERSION } from '../projection/core/stored-run.ts';

/** The leases that one process of the installation holds at a time. */
const LEASES = ['scheduler', `projection.v${VIEW_VERSION}`, 'schedules'];
const utf8 = new TextDecoder();

/** Who holds which lease. One that nobody holds is left out. @throws {LogUnavailable} */
export const readLeaders = async (log: EventLog, withinMs: number): Promise<System['leaders']> => {
  const read = await Promise.all(
    LEASES.map(async (lease) => {
      const last = await lastMessage(log, 'KV_LEASES', `$KV.LEASES.${lease}`, withinMs);
      // An empty value is a released lease.
      if (last === null || last.data.byteLength === 0) return [];
      return [{ lease, holder: utf8.decode(last.data).slice(0, 200), renewed_at: last.time.toISOString() }];
    }),
  );
  return read.flat();
};
