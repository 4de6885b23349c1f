import { POOLS_SUBJECT, PoolsRequest, PoolsResponse, type Pool } from '@runledger/contracts/requests/pools';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { maxPayloadBytes } from '@runledger/event-log/append/publish';
import { parserOf, type Endpoint, firstThatFit, respond, sendRequest } from './endpoint.ts';

const POOLS: Endpoint<PoolsRequest, PoolsResponse> = {
  subject: POOLS_SUBJECT,
  description: 'the pools',
  parseRequest: parserOf(PoolsRequest),
  parseResponse: parserOf(PoolsResponse),
};

/** Responds with a page of the pools. Only the leading scheduler does: `poolsOf` gives undefined in another one. */
export const respondWithPools = (
  log: EventLog,
  poolsOf: (request: PoolsRequest) => PoolsResponse | undefined,
): Disposable =>
  respond(log, POOLS, (request) => {
    const page = poolsOf(request);
    if (!page) return undefined;
    const pools: Pool[] = firstThatFit(page.pools, maxPayloadBytes(log));
    return { pools, more: page.more || pools.length < page.pools.length };
  });

/** One page of the pools. Undefined when no scheduler leads, or none responds in time. */
export const requestPools = (
  log: EventLog,
  request: PoolsRequest,
  withinMs: number,
): Promise<PoolsResponse | undefined> => sendRequest(log, POOLS, request, withinMs);
