import type { Heartbeat } from '@runledger/contracts/events/fleet-event';
import { newUuid } from '@runledger/contracts/ids';
import { lastHeartbeat } from '@runledger/coordination/heartbeats';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { appendFleet } from '@runledger/event-log/messages/append-fleet';
import type { DeclareLost } from '../core/decisions/decision.ts';
import type { DecisionMetrics } from './decision-metrics.ts';

export interface LossOptions {
  readonly log: EventLog;
  readonly metrics: Pick<DecisionMetrics, 'executorLost'>;
  /** Called with a stored heartbeat that the watch has not delivered yet. */
  readonly onHeartbeat: (heartbeat: Heartbeat, time: string) => void;
}

/**
 * Stores the loss of an executor, unless the leader of the stream has a later heartbeat: a watch may be behind after the
 * broker was unavailable.
 */
export const storeLoss = async (
  { log, metrics, onHeartbeat }: LossOptions,
  { executor, message, lastHeartbeat: known, restarted }: DeclareLost,
): Promise<'stored' | 'refused'> => {
  try {
    const last = await lastHeartbeat(log, executor);
    if (last && last.time !== known) {
      onHeartbeat(last.heartbeat, last.time);
      return 'refused';
    }
    await appendFleet(log, {
      type: 'ExecutorLost',
      version: 1,
      event_id: newUuid(),
      executor_id: executor,
      time: new Date().toISOString(),
      message,
    });
  } catch (error) {
    if (!(error instanceof LogUnavailable)) throw error;
    log.logger.warn({ err: error, executor }, 'the log is unavailable; the executor gets another period');
    return 'refused';
  }
  if (restarted) log.logger.info({ executor, message }, 'an executor is lost, and was started again');
  else log.logger.warn({ executor, message }, 'an executor is lost');
  metrics.executorLost();
  return 'stored';
};
