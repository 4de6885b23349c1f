import { isOrgId, isRunId } from '@runledger/contracts/ids';
import {
  MAX_REQUESTED_POSITIONS,
  QUEUE_POSITIONS_SUBJECT,
  QueuePositionsResponse,
  QueuePositionsRequest,
  type QueuePosition,
} from '@runledger/contracts/requests/queue-position';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parserOf, type Endpoint, respond, sendRequest } from './endpoint.ts';

const parseBody = parserOf(QueuePositionsRequest);

const QUEUE_POSITIONS: Endpoint<{ readonly runs: readonly RunKey[] }, QueuePositionsResponse> = {
  subject: QUEUE_POSITIONS_SUBJECT,
  description: 'the queue positions of runs',
  parseRequest: (body) => {
    const requested = parseBody(body)?.runs ?? [];
    const runs = requested.flatMap(({ org_id, run_id }) =>
      isOrgId(org_id) && isRunId(run_id) ? [{ org_id, run_id }] : [],
    );
    return runs.length > 0 && runs.length === requested.length ? { runs } : undefined;
  },
  parseResponse: parserOf(QueuePositionsResponse),
};

/**
 * Responds with the queue positions of runs until it is disposed of. `positionsOf` gives one for each run, undefined for a
 * run that does not wait. Only the leading scheduler responds: in another one `positionsOf` gives undefined instead.
 */
export const respondWithQueuePositions = (
  log: EventLog,
  positionsOf: (keys: readonly RunKey[]) => readonly (QueuePosition | undefined)[] | undefined,
): Disposable =>
  respond(log, QUEUE_POSITIONS, ({ runs }) => {
    const positions = positionsOf(runs)?.map((position) => position ?? null);
    return positions && { positions };
  });

/**
 * Requests the queue positions of up to MAX_REQUESTED_POSITIONS runs: one for each run, in their order, undefined for a run
 * that does not wait. Undefined instead when no scheduler leads, none responds in time, or the response does not match.
 */
export const requestQueuePositions = async (
  log: EventLog,
  keys: readonly RunKey[],
  withinMs: number,
): Promise<readonly (QueuePosition | undefined)[] | undefined> => {
  if (keys.length > MAX_REQUESTED_POSITIONS) {
    throw new RangeError(
      `the queue positions of ${keys.length} runs are requested, and ${MAX_REQUESTED_POSITIONS} is the most`,
    );
  }
  if (keys.length === 0) return undefined;
  const runs = keys.map(({ org_id, run_id }) => ({ org_id, run_id }));
  const response = await sendRequest(log, QUEUE_POSITIONS, { runs }, withinMs);
  if (response?.positions.length === keys.length)
    return response.positions.map((position) => position ?? undefined);
  if (response)
    log.logger.warn({ runs: keys.length }, 'the scheduler responded with queue positions of other runs');
  return undefined;
};
