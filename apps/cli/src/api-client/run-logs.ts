import { parseJson } from '@runledger/contracts/json';
import {
  RunLogCut,
  RunLogLine,
  RunLogNotice,
  type RunLogItem,
} from '@runledger/contracts/http/runs/run-logs';
import { Type } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { at } from './api-call.ts';
import type { ApiConnection } from './connection.ts';
import { eventStream, notUnderstood } from './event-stream.ts';

import { linesOf, streamedResponse } from './streamed-response.ts';

const Item = compiledSchema(Type.Union([RunLogLine, RunLogCut, RunLogNotice]));

const ITEM_EVENTS: ReadonlySet<string> = new Set(['line', 'cut', 'notice']);

export interface LogQuery {
  readonly attempt?: number | undefined;
  readonly tail?: number | undefined;
}

type RunLogEventNotice =
  | { readonly kind: 'nothing_new' }
  /** A notice has no id. */
  | { readonly kind: 'item'; readonly id: string | undefined; readonly item: RunLogItem }
  /** There is nothing more to come. */
  | { readonly kind: 'end' };

/**
 * The logs of a run, and what is written, until the run has ended. `after`: the id of the last event that was received.
 * @throws Unavailable when the connection is cut or the service is unavailable
 */
export type FollowRunLogs = (
  run: string,
  query: LogQuery,
  after: string | undefined,
) => AsyncIterable<RunLogEventNotice>;

export const followRunLogs = (connection: ApiConnection): FollowRunLogs =>
  async function* (run, query, after) {
    const request = { path: at`/run/${run}/logs`, query: { ...query, follow: true } };
    let isEmpty = true;
    for await (const message of eventStream(connection, request, after)) {
      isEmpty = false;
      if (message === undefined) yield { kind: 'nothing_new' };
      else if (message.event === 'end') yield { kind: 'end' };
      else if (ITEM_EVENTS.has(message.event ?? '')) {
        yield { kind: 'item', id: message.id, item: itemIn(message.data) };
      }
    }
    // 204: nothing follows.
    if (isEmpty && after !== undefined) yield { kind: 'end' };
  };

/** The logs as they are now. @throws Unavailable as `followRunLogs` */
export type ReadRunLogs = (run: string, query: LogQuery) => AsyncIterable<RunLogItem>;

/** Without any data for this long, the connection is dead. */
const IDLE_TIMEOUT_MS = 30_000;

export const readRunLogs =
  (connection: ApiConnection): ReadRunLogs =>
  (run, query) => {
    const request = { method: 'GET', path: at`/run/${run}/logs`, query: { ...query } } as const;
    return streamedResponse(connection, request, IDLE_TIMEOUT_MS, readItems);
  };

const readItems = async function* (
  body: AsyncIterable<string>,
  onData: () => void,
): AsyncGenerator<RunLogItem> {
  for await (const line of linesOf(body, onData)) yield itemIn(line);
};

const itemIn = (text: string): RunLogItem => {
  const item = parseJson(text);
  if (!Item.Check(item)) throw notUnderstood();
  return item;
};
