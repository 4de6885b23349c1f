import {
  MAX_ASKED_PLACES,
  QUEUE_PLACES_SUBJECT,
  QueuePlacesAnswer,
  QueuePlacesQuestion,
  type QueuePlace,
} from '@runledger/contracts/queue-place';
import { isOrgId, isRunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects';
import type { Msg } from '@nats-io/transport-node';
import { Compile } from 'typebox/compile';
import type { EventLog } from './event-log.ts';
import { parseJson } from './stored-message.ts';

const Question = Compile(QueuePlacesQuestion);
const Answer = Compile(QueuePlacesAnswer);
const utf8 = new TextEncoder();

/**
 * Answers from memory where runs wait, until it is disposed of; only the scheduler that leads does. `placesOf` gives one
 * place for each run, undefined for one that does not wait; undefined altogether leaves the question unanswered.
 */
export const answerQueuePlaces = (
  log: EventLog,
  placesOf: (keys: readonly RunKey[]) => readonly (QueuePlace | undefined)[] | undefined,
): Disposable => {
  const answer = (message: Msg): void => {
    const keys = keysIn(parseJson(message.data));
    if (!keys) {
      const fields = { subject: message.subject, bytes: message.data.byteLength };
      return log.logger.warn(
        fields,
        'a question for the places of runs does not fit its schema; it is ignored',
      );
    }
    const places = placesOf(keys)?.map((place) => place ?? null);
    if (places) message.respond(utf8.encode(JSON.stringify({ places } satisfies QueuePlacesAnswer)));
  };
  const subscription = log.nc.subscribe(QUEUE_PLACES_SUBJECT, {
    callback: (error, message) => {
      try {
        if (error) throw error;
        answer(message);
      } catch (thrown) {
        log.logger.error({ err: thrown }, 'the places of runs could not be told');
      }
    },
  });
  return { [Symbol.dispose]: () => subscription.unsubscribe() };
};

/**
 * Asks the scheduler where these runs wait, MAX_ASKED_PLACES at most: one place for each run, in their order, undefined
 * for one that does not wait. Undefined altogether when no scheduler leads, when none answers in time or what it
 * answers does not fit.
 */
export const askQueuePlaces = async (
  log: EventLog,
  keys: readonly RunKey[],
  withinMs: number,
): Promise<readonly (QueuePlace | undefined)[] | undefined> => {
  if (keys.length > MAX_ASKED_PLACES) {
    throw new RangeError(`the places of ${keys.length} runs are asked, and ${MAX_ASKED_PLACES} is the most`);
  }
  // A client that is not connected would keep the question in memory.
  if (keys.length === 0 || !log.connected()) return undefined;
  const question: QueuePlacesQuestion = { runs: keys.map(({ org_id, run_id }) => ({ org_id, run_id })) };
  try {
    const message = await log.nc.request(QUEUE_PLACES_SUBJECT, utf8.encode(JSON.stringify(question)), {
      timeout: withinMs,
    });
    const answer = parseJson(message.data);
    if (Answer.Check(answer) && answer.places.length === keys.length) {
      return answer.places.map((place) => place ?? undefined);
    }
    log.logger.warn({ runs: keys.length }, 'the scheduler tells places of runs that do not fit their schema');
  } catch (error) {
    log.logger.debug({ err: error, runs: keys.length }, 'the places of runs are not to be had');
  }
  return undefined;
};

/** Undefined when it is no question. */
const keysIn = (body: unknown): RunKey[] | undefined => {
  if (!Question.Check(body)) return undefined;
  const keys = body.runs.flatMap(({ org_id, run_id }) =>
    isOrgId(org_id) && isRunId(run_id) ? [{ org_id, run_id }] : [],
  );
  return keys.length === body.runs.length ? keys : undefined;
};
