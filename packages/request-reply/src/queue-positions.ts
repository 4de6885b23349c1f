import {
  MAX_REQUESTED_POSITIONS,
  QUEUE_POSITIONS_SUBJECT,
  QueuePositionsResponse,
  QueuePositionsRequest,
  type QueuePosition,
} from '@runledger/contracts/requests/queue-position';
import { isOrgId, isRunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { respond, sendRequest, parserOf, type Endpoint } from './endpoint.ts';
import type { EventLog } from '@runledger/event-log/connect/event-log';

const questionIn = parserOf(QueuePositionsRequest);

const QUEUE_PLACES: Endpoint<{ readonly runs: readonly RunKey[] }, QueuePositionsResponse> = {
  subject: QUEUE_POSITIONS_SUBJECT,
  description: 'the places of runs',
  parseRequest: (body) => {
    const asked = questionIn(body)?.runs ?? [];
    const runs = asked.flatMap(({ org_id, run_id }) =>
      isOrgId(org_id) && isRunId(run_id) ? [{ org_id, run_id }] : [],
    );
    return runs.length > 0 && runs.length === asked.length ? { runs } : undefined;
  },
  parseResponse: parserOf(QueuePositionsResponse),
};

/**
 * Answers from memory where runs wait, until it is disposed of; only the scheduler that leads does. `placesOf` gives one
 * place for each run, undefined for one that does not wait; undefined altogether leaves the question unanswered.
 */
export const respondWithQueuePositions = (
  log: EventLog,
  placesOf: (keys: readonly RunKey[]) => readonly (QueuePosition | undefined)[] | undefined,
): Disposable =>
  respond(log, QUEUE_PLACES, ({ runs }) => {
    const places = placesOf(runs)?.map((place) => place ?? null);
    return places && { places };
  });

/**
 * Asks the scheduler where these runs wait, MAX_ASKED_PLACES at most: one place for each run, in their order, undefined
 * for one that does not wait. Undefined altogether when no scheduler leads, when none answers in time or what it
 * answers does not fit.
 */
export const requestQueuePositions = async (
  log: EventLog,
  keys: readonly RunKey[],
  withinMs: number,
): Promise<readonly (QueuePosition | undefined)[] | undefined> => {
  if (keys.length > MAX_REQUESTED_POSITIONS) {
    throw new RangeError(
      `the places of ${keys.length} runs are asked, and ${MAX_REQUESTED_POSITIONS} is the most`,
    );
  }
  if (keys.length === 0) return undefined;
  const runs = keys.map(({ org_id, run_id }) => ({ org_id, run_id }));
  const answered = await sendRequest(log, QUEUE_PLACES, { runs }, withinMs);
  if (answered?.places.length === keys.length) return answered.places.map((place) => place ?? undefined);
  if (answered) log.logger.warn({ runs: keys.length }, 'the scheduler tells places of other runs than asked');
  return undefined;
};
