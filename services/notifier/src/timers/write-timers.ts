import {
  breakerTimerSubject,
  partitionPositionSubject,
  timersOfRun,
  timerSubject,
  type OpenBreaker,
  type PartitionPosition,
  type PendingDelivery,
} from '@runledger/contracts/deliveries/timers';
import { newUuid } from '@runledger/contracts/ids';
import { publish } from '@runledger/event-log/messages/publish';
import { callBroker } from '@runledger/event-log/connect/broker-call';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { removeMessage } from '@runledger/event-log/streams/remove-message';

const STREAM = 'TIMERS';
const utf8 = new TextEncoder();

/** Stores a delivery until its time, by the broker's clock. It replaces what was waiting for the run. @throws {LogUnavailable} */
export const scheduleDelivery = (log: EventLog, delivery: PendingDelivery, at: Date): Promise<void> =>
  put(log, timerSubject(delivery, 'wait'), delivery, { at, target: timerSubject(delivery, 'due') });

/** Stores a delivery that waits without a timer of its own. @throws {LogUnavailable} */
export const deferDelivery = (log: EventLog, delivery: PendingDelivery): Promise<void> =>
  put(log, timerSubject(delivery, 'deferred'), delivery);

/** Stores the opening of a breaker, which becomes due for the holder of its partition when it is over. @throws {LogUnavailable} */
export const storeOpening = (log: EventLog, breaker: OpenBreaker): Promise<void> =>
  put(log, breakerTimerSubject(breaker, 'wait'), breaker, {
    at: new Date(breaker.until),
    target: breakerTimerSubject(breaker, 'due'),
  });

/** Stores how far a partition has come. @throws {LogUnavailable} */
export const storePosition = (log: EventLog, partition: number, position: PartitionPosition): Promise<void> =>
  put(log, partitionPositionSubject(partition), position);

const put = async (
  log: EventLog,
  subject: string,
  body: PendingDelivery | OpenBreaker | PartitionPosition,
  schedule?: { readonly at: Date; readonly target: string },
): Promise<void> => {
  const data = utf8.encode(JSON.stringify(body));
  await publish(log, { stream: STREAM, subject, data, id: newUuid(), ...(schedule ? { schedule } : {}) });
};

/** Removes one message. Does nothing when it is not there any more. @throws {LogUnavailable} */
export const removeTimer = (log: EventLog, sequence: number): Promise<void> =>
  removeMessage(log, STREAM, sequence);

/** Removes everything that is pending for a run. @throws {LogUnavailable} */
export const removePending = (
  log: EventLog,
  of: Pick<PendingDelivery, 'origin' | 'org_id' | 'run_id'>,
): Promise<void> => removeAll(log, timersOfRun(of));

/** Removes the opening of a breaker, so that it does not become due. @throws {LogUnavailable} */
export const removeOpening = (
  log: EventLog,
  breaker: Pick<OpenBreaker, 'origin' | 'org_id'>,
): Promise<void> => removeAll(log, breakerTimerSubject(breaker, 'wait'));

const removeAll = async (log: EventLog, filter: string): Promise<void> => {
  await callBroker(`removing ${filter}`, () => log.jsm.streams.purge(STREAM, { filter }));
};
