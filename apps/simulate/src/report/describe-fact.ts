import type { RunEventOf } from '@runledger/contracts/events/run-event';
import type { Stored } from '../broker/run-log.ts';
import { deploymentOf, runOf } from '../plan/ids.ts';

/** A fact of a run in words. */
export const describeFact = ({ event }: Stored): string => {
  const run = `run ${runOf(event.run_id)}`;
  const by = event.writer.instance === 'gateway' ? '' : ` (${event.writer.instance})`;
  if (event.type === 'RunAssigned') {
    const { slot, gpu, reason } = event.data;
    const warm = reason?.choice === 'warm' ? ', warm' : '';
    return `${run} is assigned to ${event.executor_id} slot ${slot} (${gpu}${warm}), attempt ${event.attempt}${by}`;
  }
  if (event.type === 'RunQueued') return `${run}: RunQueued, ${describeRequest(event.data)}`;
  const reason = 'reason' in event.data ? `, ${event.data.reason}` : '';
  return `${run}: ${event.type}${reason}${by}`;
};

/** What it asks for. */
const describeRequest = (request: RunEventOf<'RunQueued'>['data']): string => {
  const { deployment_id, gpu, gpu_fallbacks = [], labels = [], warm_wait_s, delay_s, start_at } = request;
  const models = gpu_fallbacks.map((other) => `, ${other.gpu} after ${other.after_s} s`);
  return [
    `deployment ${deploymentOf(deployment_id)} on ${gpu}${models.join('')}`,
    ...(labels.length > 0 ? [`with ${labels.join(' and ')}`] : []),
    ...(warm_wait_s === undefined ? [] : [`waits ${warm_wait_s} s for a slot with its version`]),
    ...(delay_s === undefined ? [] : [`not before ${delay_s} s`]),
    ...(start_at === undefined ? [] : [`not before ${start_at}`]),
  ].join(', ');
};
