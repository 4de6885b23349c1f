import type { EventLog } from '@runledger/event-log/connect/event-log';
import { respondWithExecutors } from '@runledger/request-reply/executors';
import { respondWithPools } from '@runledger/request-reply/pools';
import { respondWithQueuePositions } from '@runledger/request-reply/queue-positions';
import { respondWithShortages } from '@runledger/request-reply/shortage';
import { respondWithWaitReasons } from '@runledger/request-reply/wait-reason';
import type { Queries } from '../core/queries/queries.ts';

interface ResponderOptions {
  readonly queries: Queries;
  readonly isCurrent: () => boolean;
  /** The sequence in FLEET of the last fact that was taken. */
  readonly fleetReadUpTo: () => number;
}

/** Responds to requests from memory until it is disposed of. While the state is not current there is no response. */
export const respondToRequests = (
  log: EventLog,
  { queries, isCurrent, fleetReadUpTo }: ResponderOptions,
): Disposable => {
  const stack = new DisposableStack();
  stack.use(
    respondWithQueuePositions(log, (keys) =>
      isCurrent() ? keys.map((key) => queries.queuePosition(key)) : undefined,
    ),
  );
  stack.use(
    respondWithWaitReasons(log, (key) => (isCurrent() ? (queries.waitReason(key) ?? null) : undefined)),
  );
  stack.use(
    respondWithExecutors(log, (request) =>
      isCurrent() ? { ...queries.executors(request), read_up_to: fleetReadUpTo() } : undefined,
    ),
  );
  stack.use(respondWithShortages(log, (request) => (isCurrent() ? queries.shortage(request) : undefined)));
  stack.use(respondWithPools(log, (request) => (isCurrent() ? queries.pools(request) : undefined)));
  return stack;
};
