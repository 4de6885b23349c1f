import { RunHistory } from '@runledger/contracts/http/run-history';
import { Type } from 'typebox';
import { operation, route, type Route } from '../../http/operation.ts';
import { audienceOf } from '../../webhooks/core/show-callback.ts';
import { RunPath, runKeyOf } from '../current/run-path.ts';
import type { ReadHistory } from './read-history.ts';

const LOG_LINES = 5;

const HistoryQuery = Type.Object({
  log_lines: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      default: LOG_LINES,
      examples: [LOG_LINES],
      description: 'How many lines of the beginning and of the end of the log of each attempt are in it.',
    }),
  ),
});

const historyOperation = operation({
  id: 'getRunHistory',
  method: 'GET',
  path: '/run/{run_id}/history',
  tag: 'Runs',
  summary: 'Read what happened to a run',
  description:
    'Every fact of the run that the log or the archive has, with what it changed, and between them the delivery attempts of its notifications and lines of its logs. It says where facts are missing. A key with the scope `admin` also sees what the services know.',
  scope: 'runs:read',
  request: { path: RunPath, query: HistoryQuery },
  response: { status: 200, description: 'The history.', body: RunHistory },
  refusals: [404],
});

export const historyRoute = ({ history }: { readonly history: ReadHistory }): Route =>
  route(historyOperation, async ({ path, query }, caller) =>
    history(runKeyOf(path, caller), {
      audience: audienceOf(caller.key.scopes),
      logLines: query.log_lines ?? LOG_LINES,
    }),
  );
