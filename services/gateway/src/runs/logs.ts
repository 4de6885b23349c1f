import { isEnded } from '@runledger/contracts/fold/run';
import { RunLogCut, RunLogEnd, RunLogLine, RunLogNotice } from '@runledger/contracts/http/runs/run-logs';
import { Type } from 'typebox';
import { operation, route, type Route } from '../door/operation.ts';
import { streamed } from '../door/responses.ts';
import { existingRun, RunPath, runKeyOf } from './run-path.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';
import { LOG_POSITION_PATTERN, parsePosition, type LogItem } from './logs.decide.ts';
import { followLogs } from './follow-logs.ts';
import { beginStream } from './server-sent-events.ts';
import { beginOf, readLogs } from './attempt-logs.ts';

const LogsQuery = Type.Object({
  attempt: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 999_999,
      examples: [1],
      description: 'Only this attempt; without it all, in order.',
    }),
  ),
  tail: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Only this number of last lines.',
      examples: [100],
    }),
  ),
  follow: Type.Optional(
    Type.Boolean({
      default: false,
      examples: [true],
      description: 'Whether to stream what is written, as server-sent events.',
    }),
  ),
});

const LogsHeaders = Type.Object({
  'Last-Event-ID': Type.Optional(
    Type.String({
      pattern: LOG_POSITION_PATTERN,
      examples: ['1-120'],
      description: 'With `follow`: the id of the last received event. The stream continues after it.',
    }),
  ),
});

const logsOperation = operation({
  id: 'getRunLogs',
  method: 'GET',
  path: '/run/{run_id}/logs',
  tag: 'Runs',
  summary: 'Read the logs of a run',
  description:
    'What its attempts write, as JSON objects, one on each line: RunLogLine, RunLogCut where lines are missing, RunLogNotice about an attempt. The beginning and the end of each log are kept, at most 1 MiB of text. With `follow`, server-sent events with the same objects as data: `event: line`, `cut`, `notice`, and `end` (RunLogEnd) when the run has ended. A client that was disconnected sends the last `id` as `Last-Event-ID` and misses nothing that is kept.',
  scope: 'runs:read',
  runToken: { scope: 'logs', inQuery: true },
  request: { path: RunPath, query: LogsQuery, headers: LogsHeaders },
  response: {
    status: 200,
    description: 'The logs; with `follow` as `text/event-stream`.',
    contentTypes: ['application/x-ndjson', 'text/event-stream'],
    events: [RunLogLine, RunLogCut, RunLogNotice, RunLogEnd],
  },
  otherResponses: { 204: 'Nothing follows the event that `Last-Event-ID` names: do not reconnect.' },
  refusals: [404],
});

export const logsRoute = (kit: Kit, runs: Runs): Route =>
  route(logsOperation, async ({ path, query, headers }, caller, ctx) => {
    const key = runKeyOf(path, caller);
    const { run } = await existingRun(runs.current, key);
    const { attempt, tail } = query;
    const after = query.follow ? headers['Last-Event-ID'] : undefined;
    const from =
      after === undefined ? await beginOf(runs.attemptLog, run, attempt, tail) : parsePosition(after);
    const stored = readLogs(runs.attemptLog, run, attempt, from);
    ctx.set('Cache-Control', 'no-store');
    if (!query.follow) {
      ctx.type = 'application/x-ndjson';
      ctx.body = ctx.method === 'HEAD' ? '' : await streamed(linesOf(stored));
    } else if (after !== undefined && isEnded(run) && !(await hasLines(stored))) ctx.status = 204;
    else
      beginStream(runs, caller, ctx, (holder, onClosed) =>
        followLogs(kit, runs, { res: ctx.res, key, holder, from, attempt, onClosed }),
      );
  });

const linesOf = async function* (items: AsyncGenerator<LogItem>): AsyncGenerator<string> {
  for await (const { item } of items) yield `${JSON.stringify(item)}\n`;
};

const hasLines = async (items: AsyncGenerator<LogItem>): Promise<boolean> => {
  for await (const { item } of items) if (!('notice' in item)) return true;
  return false;
};
