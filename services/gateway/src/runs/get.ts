import { IncludedMembers, WorkflowRun } from '@runledger/contracts/http/runs/run';
import type { QueuePosition } from '@runledger/contracts/requests/queue-position';
import { isEnded, isExecuting } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { Type } from 'typebox';
import { runResponse, type EndedResponses } from './run-response.ts';
import { includeOf } from './included.ts';
import type { ReadCurrentRun } from './facts/current-run.ts';
import type { QueuePositions } from './queue-positions.ts';
import { audienceOf, showCallback } from './facts/shown-webhooks.ts';
import { operation, route, type Route, requestOf, type NoteAnswer } from '../door/operation.ts';
import { Refused } from '../door/refusal.ts';
import { notFoundRun, RunPath, runKeyOf, runLinks } from './run-path.ts';
import { AtMoment, exclusiveProblems, momentOf, runAt } from './past-run.ts';
import { type RunView, existing, type StoredView } from '../views/run-view.ts';
import type { Runs } from './runs.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiKey } from '@runledger/contracts/catalogue/records';
import { wantsExactNumbers } from '@runledger/contracts/http/headers';
import { isRunId, orgId, type RunId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { makesTraces } from '@runledger/service-kit/spans';
import { allows } from '@runledger/contracts/scopes';
import { bearerOf } from '../door/caller.ts';
import { REVALIDATED, type RenderedJson } from '../door/responses.ts';
import type { FreshViews } from '../views/fresh-views.ts';
import { rateHeaders, type RateDecision } from '../door/rate-limit.decide.ts';
import type { QuickAnswer } from '../door/http-server.ts';
import type { ClientAddresses } from '../door/edge.ts';

const GetQuery = Type.Object({
  include: Type.Optional(IncludedMembers),
  wait: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 60,
      examples: [30],
      description:
        'How many seconds to wait for the end of the run. Then the response shows the run as it is.',
    }),
  ),
  ...AtMoment,
});

const getOperation = operation({
  id: 'getRun',
  ofSpecification: true,
  method: 'GET',
  path: '/run/{run_id}',
  tag: 'Runs',
  summary: 'Read a run',
  description:
    'The response never shows less than any earlier response, webhook or event. With `at_seq` or `at` it shows the run as it was, as far as the log still has its facts: without the progress, live status and queue position of that time, which no fact says, and without outputs that were deleted since.',
  scope: 'runs:read',
  runToken: { scope: 'read' },
  request: { path: RunPath, query: GetQuery },
  response: { status: 200, description: 'The run.', body: WorkflowRun, links: runLinks('/id') },
  refusals: [404, 410],
});

export const getRoute = ({
  current,
  past,
  lists,
  progress,
  positions,
  wait,
  included,
  outputUrl,
  ended,
}: Runs): Route =>
  route(
    getOperation,
    async ({ path, query }, caller, ctx) => {
      if (caller.token && query.include !== undefined)
        throw new Refused({
          code: 'run_token_not_enough',
          why: 'A token of a run includes no inputs and no workflow',
        });
      const key = runKeyOf(path, caller);
      const moment = momentOf(query);
      const waitMs = (query.wait ?? 0) * 1_000;
      const found = moment
        ? await runAt(past, key, moment)
        : await presentRun(current, key, waitMs > 0 ? () => wait(key, caller, ctx, waitMs) : undefined);
      const { webhook } = found;
      const audience = audienceOf(caller.key.scopes);
      const isWhole = isEnded(found.run) && query.include === undefined;
      const known = isWhole ? ended.find(found, audience) : undefined;
      if (known) return known;
      const { run, missing } = await lists.ofRun(found.run);
      const [report, position, members] = await Promise.all([
        isExecuting(run) && !moment ? progress(run) : undefined,
        run.status === 'queued' && !moment ? positionOf(positions, key) : undefined,
        included(includeOf(query))(run),
      ]);
      /** Addresses of files may expire, and what is in a blob may be lost. */
      let isLasting = isWhole && run === found.run;
      const response = runResponse(run, {
        webhook: webhook.state,
        report,
        position,
        included: { ...members, missing: [...members.missing, ...missing] },
        outputUrl: (file) => {
          isLasting = false;
          return outputUrl(file);
        },
        showCallback: showCallback(caller.key.scopes),
      });
      return isLasting ? ended.keep(found, audience, response) : response;
    },
    ({ query }) => exclusiveProblems(query, ['at_seq', 'at', 'wait']),
  );

/** The run now, after a wait for its end. @throws {Refused} */
const presentRun = async (
  current: ReadCurrentRun,
  key: RunKey,
  waitForEnd: (() => Promise<unknown>) | undefined,
): Promise<RunView> => {
  const first = await current(key);
  const waits = waitForEnd && first.kind === 'found' && !isEnded(first.run);
  if (waits) await waitForEnd();
  const found = waits ? await current(key) : first;
  if (found.kind !== 'found') throw notFoundRun(found);
  return found;
};

const positionOf = async (positions: QueuePositions, key: RunKey): Promise<QueuePosition | undefined> =>
  (await positions([key])).get(key.run_id);

export interface QuickReads {
  readonly basePath: string;
  /** On every response. */
  readonly headers: Readonly<Record<string, string>>;
  readonly log: Pick<EventLog, 'connected'>;
  /** A key that was authenticated a moment ago. */
  readonly recentKey: (text: string) => ApiKey | undefined;
  /** Undefined when it is not known at once whether the request is allowed, or when it is not. */
  readonly rateAtOnce: (key: ApiKey) => RateDecision | 'no_limit' | undefined;
  /** The view if it is in memory. */
  readonly peek: (key: RunKey) => StoredView | undefined;
  readonly fresh: Pick<FreshViews, 'areFresh'>;
  readonly ended: Pick<EndedResponses, 'find'>;
  readonly onRead: (from: 'views') => void;
  readonly onAnswered: NoteAnswer;
  readonly addressOf: ClientAddresses['of'];
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** Of a request that has one of these, the response may differ. */
const WITH_A_MEANING = [
  'content-length',
  'expect',
  'if-none-match',
  'origin',
  'traceparent',
  'transfer-encoding',
] as const;

/**
 * GET of a run that has ended, shown before, and has not changed: most reads of a busy gateway. What the operation says is said again: the same key is
 * as valid, the same limit counts it, the same proof says that the view has all of the log, and the response is the one that the operation has
 * written. Every other request, and every no, is left to the operation.
 */
export const quickReads = (options: QuickReads): QuickAnswer => {
  const { basePath, log, recentKey, peek, ended } = options;
  const prefix = `${basePath}/run/`;
  const look = ({ run_id, text }: Asked): Known | undefined => {
    const key = recentKey(text);
    if (!key || !allows(key.scopes, getOperation.scope)) return undefined;
    const stored = peek({ org_id: orgId(key.org_id), run_id });
    const view = stored && existing(stored);
    const response = view && ended.find(view, audienceOf(key.scopes));
    return response && { key, response };
  };
  const areFresh = async (): Promise<boolean> => {
    try {
      return await options.fresh.areFresh();
    } catch {
      // The operation says why.
      return false;
    }
  };
  const answer = async (
    req: IncomingMessage,
    res: ServerResponse,
    asked: Asked,
    began: number,
  ): Promise<boolean> => {
    // Before the view is read, which then has everything too.
    if (!(await areFresh())) return false;
    const found = look(asked);
    const rate = found && options.rateAtOnce(found.key);
    if (!rate) return false;
    write(req, res, options.headers, found.response, rate);
    options.onRead('views');
    options.onAnswered(req, {
      client_ip: options.addressOf(req),
      method: 'GET',
      route: `${basePath}/run/:run_id`,
      operation: getOperation.id,
      status: 200,
      ms: options.clock() - began,
      org_id: found.key.org_id,
    });
    return true;
  };
  return (req, res, otherwise) => {
    const asked = log.connected() && !makesTraces() ? askedBy(req, prefix) : undefined;
    if (!asked || !look(asked)) return otherwise();
    void answer(req, res, asked, options.clock()).then((isAnswered) => {
      if (!isAnswered) otherwise();
    });
  };
};

interface Asked {
  readonly run_id: RunId;
  /** The API key. */
  readonly text: string;
}

interface Known {
  readonly key: ApiKey;
  readonly response: RenderedJson;
}

const askedBy = (req: IncomingMessage, prefix: string): Asked | undefined => {
  const run_id = plainTarget(req, prefix);
  if (run_id === undefined) return undefined;
  const text = bearerOf(req);
  return text === undefined ? undefined : { run_id, text };
};

/** The run of a request that is no more than a read of it. */
const plainTarget = ({ method, url = '', httpVersion, headers }: IncomingMessage, prefix: string) => {
  if (method !== 'GET' || httpVersion !== '1.1' || !url.startsWith(prefix)) return undefined;
  if (headers.host === undefined || WITH_A_MEANING.some((name) => headers[name] !== undefined))
    return undefined;
  if (wantsExactNumbers(headers.accept ?? '')) return undefined;
  const run_id = url.slice(prefix.length);
  return isRunId(run_id) ? run_id : undefined;
};

const write = (
  req: IncomingMessage,
  res: ServerResponse,
  headers: Readonly<Record<string, string>>,
  { text, tag, bytes }: RenderedJson,
  rate: RateDecision | 'no_limit',
): void => {
  res.writeHead(200, {
    ...headers,
    'X-Request-Id': requestOf({ req }).request_id,
    ...(rate === 'no_limit' ? {} : rateHeaders(rate)),
    Vary: 'Accept',
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': REVALIDATED,
    ETag: tag,
    'Content-Length': bytes,
  });
  res.end(text);
};
