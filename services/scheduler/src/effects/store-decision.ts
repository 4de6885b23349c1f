import type { RunEvent } from '@runledger/contracts/events/run-event';
import { append, EventTooLarge } from '@runledger/event-log/append/append';
import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';
import type { RunDecision } from '../core/decisions/decision.ts';
import type { Outcome } from '../core/state/scheduler-input.ts';
import type { DecisionMetrics } from './decision-metrics.ts';
import { makeEvent, makeGiveUp, type EventSources } from './make-event.ts';

export interface StoreOptions extends EventSources {
  readonly metrics: Omit<DecisionMetrics, 'executorLost'>;
}

/** Appends the event of a decision on the head that it rests on. */
export const storeDecision = async (
  options: StoreOptions,
  decision: RunDecision,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { log } = options;
  try {
    const event = await retryWhileUnavailable({ signal, logger: log.logger }, () =>
      makeEvent(options, decision),
    );
    return event === undefined
      ? expired(options, decision, 0)
      : await store(options, decision, event, signal);
  } catch (error) {
    if (!(error instanceof EventTooLarge) || decision.type !== 'assign') throw error;
    // A run that cannot be assigned would wait forever, and take a slot each time.
    log.logger.error({ err: error, run_id: decision.key.run_id }, 'a run cannot be assigned and is given up');
    const message = `The run could not be assigned because of an error in the scheduler: ${error.message}`;
    return store(options, decision, makeGiveUp(options, decision, message), signal);
  }
};

/** While the log is unavailable the same event is appended again. The log recognises it by its id. */
const store = async (
  options: StoreOptions,
  decision: RunDecision,
  event: RunEvent,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { log, metrics } = options;
  const { expected } = decision;
  const { run_id, type } = event;
  const appended = await retryWhileUnavailable({ signal, logger: log.logger }, () =>
    append(log, event, expected),
  );
  if (appended.kind !== 'conflict') {
    count(metrics, event);
    return 'stored';
  }
  metrics.conflict();
  const { head } = appended;
  if (head >= expected) {
    log.logger.debug({ run_id, type, head }, 'another fact came first');
    return 'refused';
  }
  return expired(options, decision, head);
};

/** A gateway ends the run. */
const expired = ({ log }: StoreOptions, { key, type, expected }: RunDecision, head: number): 'expired' => {
  log.logger.error(
    { run_id: key.run_id, decision: type, expected, head },
    'the log no longer holds the events of a run that has not ended: raise runsMaxAgeMs in the log settings',
  );
  return 'expired';
};

const count = (metrics: StoreOptions['metrics'], event: RunEvent): void => {
  if (event.type === 'RunAssigned') metrics.assigned();
  else if (event.type === 'RunCancelEnforced') metrics.ended('cancel_enforced');
  else if (event.type === 'RunRequeued') metrics.ended(`requeued_${event.data.reason}`);
  else if (event.type === 'RunTimedOut' || event.type === 'RunGivenUp') metrics.ended(event.data.reason);
};
