import type { Stored } from '../broker/run-log.ts';
import { runOf } from '../plan/ids.ts';

/** A fact of a run in words. */
export const describeFact = ({ event }: Stored): string => {
  const run = `run ${runOf(event.run_id)}`;
  const by = event.writer.instance === 'gateway' ? '' : ` (${event.writer.instance})`;
  if (event.type === 'RunAssigned') {
    return `${run} is assigned to ${event.executor_id} slot ${event.data.slot}, attempt ${event.attempt}${by}`;
  }
  const reason = 'reason' in event.data ? `, ${event.data.reason}` : '';
  return `${run}: ${event.type}${reason}${by}`;
};
