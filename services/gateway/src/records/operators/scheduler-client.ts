import type {
  ExecutorsRequest,
  ExecutorsResponse,
  ShortageRequest,
  ShortageResponse,
} from '@runledger/contracts/requests/executors';
import type { PoolsRequest, PoolsResponse } from '@runledger/contracts/requests/pools';
import type { ReadySlotsRequest, ReadySlotsResponse } from '@runledger/contracts/requests/ready-slots';
import type { QueuePosition, WaitReason } from '@runledger/contracts/requests/queue-position';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { requestExecutors } from '@runledger/request-reply/executors';
import { requestPools } from '@runledger/request-reply/pools';
import { requestQueuePositions } from '@runledger/request-reply/queue-positions';
import { requestReadySlots } from '@runledger/request-reply/ready-slots';
import { requestShortage } from '@runledger/request-reply/shortage';
import { requestWaitReason } from '@runledger/request-reply/wait-reason';
import { openBreaker } from '../../breaker.ts';

/** No scheduler leads, or the leading one has not responded in time. */
export class SchedulerUnavailable extends Error {
  override readonly name = 'SchedulerUnavailable';
}

/** Requests to the leading scheduler, each with a circuit breaker. */
export interface SchedulerClient extends Disposable {
  /** One for each run, in their order: undefined for a run that does not wait, and for all of them without a response. */
  queuePositions(keys: readonly RunKey[]): Promise<readonly (QueuePosition | undefined)[]>;
  /** Null for a run that does not wait, or that the scheduler does not know yet. @throws {SchedulerUnavailable} */
  waitReason(key: RunKey): Promise<WaitReason | null>;
  /** @throws {SchedulerUnavailable} */
  executors(request: ExecutorsRequest): Promise<ExecutorsResponse>;
  /** @throws {SchedulerUnavailable} */
  pools(request: PoolsRequest): Promise<PoolsResponse>;
  /** @throws {SchedulerUnavailable} */
  shortage(request: ShortageRequest): Promise<ShortageResponse>;
  /** @throws {SchedulerUnavailable} */
  readySlots(request: ReadySlotsRequest): Promise<ReadySlotsResponse>;
}

/** The scheduler responds from memory, so this is long. */
const RESPONSE_TIMEOUT_MS = 2_000;
/** A queue position is worth having, and no reason to wait. */
const POSITIONS_TIMEOUT_MS = 250;

export const openSchedulerClient = (log: EventLog): SchedulerClient => {
  using opened = new DisposableStack();
  const positions = opened.use(
    openBreaker<[readonly RunKey[]], readonly (QueuePosition | undefined)[]>({
      action: async (_signal, keys) =>
        orSchedulerUnavailable(await requestQueuePositions(log, keys, POSITIONS_TIMEOUT_MS)),
      timeoutMs: POSITIONS_TIMEOUT_MS,
      opensOn: 'first_failure',
      fallback: (_why, keys) => keys.map(() => undefined),
    }),
  );
  /** A request whose caller cannot go on without the response. */
  const required = <Request, Response>(
    send: (log: EventLog, request: Request, timeoutMs: number) => Promise<Response | undefined>,
  ): ((request: Request) => Promise<Response>) => {
    const breaker = openBreaker<[Request], Response>({
      action: async (_signal, request) =>
        orSchedulerUnavailable(await send(log, request, RESPONSE_TIMEOUT_MS)),
      timeoutMs: RESPONSE_TIMEOUT_MS,
      opensOn: 'most_fail',
      fallback: () => orSchedulerUnavailable<Response>(undefined),
    });
    return opened.use(breaker).call;
  };
  const waitReason = required(requestWaitReason);
  const client = {
    queuePositions: (keys: readonly RunKey[]) => positions.call(keys),
    waitReason: async (key: RunKey) => (await waitReason(key)).wait,
    executors: required(requestExecutors),
    pools: required(requestPools),
    shortage: required(requestShortage),
    readySlots: required(requestReadySlots),
  };
  const kept = opened.move();
  return { ...client, [Symbol.dispose]: () => kept.dispose() };
};

const orSchedulerUnavailable = <Response>(response: Response | undefined): Response => {
  if (response === undefined) throw new SchedulerUnavailable('no scheduler has responded');
  return response;
};
