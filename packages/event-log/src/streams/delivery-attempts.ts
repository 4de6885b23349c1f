import {
  deliveryAttemptsOfRun,
  DeliveryState,
  deliveryStateSubject,
  DeliveryAttempt,
  runOfDeliverySubject,
  deliveryAttemptSubject,
} from '@runledger/contracts/deliveries/delivery-attempts';
import { newUuid, type RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { readDirect } from '../read/direct-read.ts';
import type { EventLog } from '../connect/event-log.ts';
import { publish } from '../append/publish.ts';
import { parseJson } from '../read/stored-message.ts';

const STREAM = 'DELIVERY_ATTEMPTS';
/** The number of subjects in one request. */
const MAX_SUBJECTS = 100;
const utf8 = new TextEncoder();
const AttemptCheck = compiledSchema(DeliveryAttempt);
const StateCheck = compiledSchema(DeliveryState);

/** Records a delivery attempt for people to read. A repeated write changes nothing. @throws {LogUnavailable} */
export const recordDeliveryAttempt = (log: EventLog, key: RunKey, made: DeliveryAttempt): Promise<void> =>
  record(log, deliveryAttemptSubject(key, made), made);

/** Records the state of a delivery that is not settled. @throws {LogUnavailable} */
export const recordDeliveryState = (log: EventLog, key: RunKey, state: DeliveryState): Promise<void> =>
  record(log, deliveryStateSubject(key), state);

const record = async (
  log: EventLog,
  subject: string,
  body: DeliveryAttempt | DeliveryState,
): Promise<void> => {
  const data = utf8.encode(JSON.stringify(body));
  await publish(log, { stream: STREAM, subject, data, id: newUuid() });
};

export interface RecordedDeliveries {
  /** Attempts at final notifications, in their order. */
  readonly attempts: readonly DeliveryAttempt[];
  /** The latest attempt at an intermediate notification. */
  readonly intermediate: DeliveryAttempt | undefined;
  /** The last written state; a fact of the run may have settled the delivery since. */
  readonly state: DeliveryState | undefined;
}

/** The recorded attempts of a run's deliveries. They expire before the run. @throws {LogUnavailable} */
export const readDeliveries = async (log: EventLog, key: RunKey): Promise<RecordedDeliveries> => {
  const what = `reading the deliveries of run ${key.run_id}`;
  const query = { multi_last: [deliveryAttemptsOfRun(key)] };
  const { messages } = await readDirect(log, STREAM, query, what);
  const bodies = messages.map(({ data }) => parseJson(data));
  const made = bodies.filter((body) => AttemptCheck.Check(body));
  return {
    attempts: made
      .filter(({ notification }) => notification === 'final')
      .sort((a, b) => a.round - b.round || a.try - b.try),
    intermediate: made.find(({ notification }) => notification === 'intermediate'),
    state: bodies.find((body) => StateCheck.Check(body)),
  };
};

/** The delivery states of several runs, without runs that have no record. @throws {LogUnavailable} */
export const readDeliveryStates = async (
  log: EventLog,
  keys: readonly RunKey[],
): Promise<ReadonlyMap<RunId, DeliveryState>> => {
  const found = new Map<RunId, DeliveryState>();
  for (let at = 0; at < keys.length; at += MAX_SUBJECTS) {
    const query = { multi_last: keys.slice(at, at + MAX_SUBJECTS).map(deliveryStateSubject) };
    const what = 'reading the states of deliveries';
    const { messages } = await readDirect(log, STREAM, query, what);
    for (const { subject, data } of messages) {
      const run = runOfDeliverySubject(subject);
      const body = parseJson(data);
      if (run && StateCheck.Check(body)) found.set(run.run_id, body);
    }
  }
  return found;
};
