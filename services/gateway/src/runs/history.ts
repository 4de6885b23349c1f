import {
  RunHistory,
  type RunHistoryDelivery,
  type RunHistoryGap,
  type RunHistoryLog,
} from '@runledger/contracts/http/runs/run-history';
import { Type } from 'typebox';
import type { DeliveryAttempt } from '@runledger/contracts/deliveries/delivery-attempts';
import { isDeleted, isEnded, type Run } from '@runledger/contracts/fold/run';
import type { WorkflowRun } from '@runledger/contracts/http/runs/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { operation, route, type Route } from '../door/operation.ts';
import { audienceOf, callbackFor, type ShowCallback } from './run-response.ts';
import { RunPath, runKeyOf, notFoundRun } from './run-path.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';
import { webhookStatus } from '../views/stored-run.decide.ts';
import { tryResponse } from './redeliver.decide.ts';
import { loggedAttempts, readLogs, type ReadAttemptLog } from './attempt-logs.ts';
import type { LogItem } from './logs.decide.ts';
import type { RunLogCut, RunLogLine, RunLogNotice } from '@runledger/contracts/http/runs/run-logs';
import { NO_MEMBERS, readResponse } from './run-response.ts';
import { historyEntries, inOrderOfTime, visibleData, withoutDeleted } from './history.decide.ts';
import { type RunMoment, type RunStep, runSteps } from './waterfall.decide.ts';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { streamState } from '@runledger/event-log/read/leader-read';
import { describeAccepted } from '@runledger/event-log/provision/lost-facts';
import { readDeliveries } from '@runledger/event-log/streams/delivery-attempts';
import { Refused } from '../door/refusal.ts';
import type { CurrentRun } from './facts/current-run.ts';

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

/** What happened to a run, and what is known beside its facts, in one order of time. */
export const historyRoute = (kit: Kit, runs: Runs): Route =>
  route(historyOperation, async ({ path, query }, caller) => {
    const key = runKeyOf(path, caller);
    const audience = audienceOf(caller.key.scopes);
    const show = callbackFor(audience);
    const { steps, lost, run: now, webhook, deliveries } = await historySource(kit, runs, key);
    const facts = historyEntries(steps, {
      responseAt: await responsesAt(runs, steps, show, now),
      dataOf: audience === 'admins' ? (event) => visibleData(event, now) : undefined,
      lost,
    });
    const others = [
      ...deliveries.map((made) => deliveryEntry(made, show)),
      ...(now ? await logEntries(runs.attemptLog, now, query.log_lines ?? LOG_LINES) : []),
    ];
    return {
      run_id: key.run_id,
      status: now?.status ?? null,
      finished: now !== undefined && isEnded(now),
      webhook_status: now ? webhookStatus(now, webhook) : null,
      entries: inOrderOfTime(facts.length === 0 && now ? [allGone(now, lost)] : facts, others),
    };
  });

/** The response for the run at each of its steps. Lists of outputs in blobs are read before. */
const responsesAt = async (
  { lists, outputUrl }: Runs,
  steps: readonly RunStep[],
  showCallback: ShowCallback,
  now: Run | undefined,
): Promise<(moment: RunMoment) => WorkflowRun | undefined> => {
  const responses = new Map<RunMoment, WorkflowRun>();
  const context = { report: undefined, position: undefined, outputUrl, showCallback };
  for (const { after } of steps) {
    if (!after.run || isDeleted(after.run)) continue;
    const moment = { run: withoutDeleted(after.run, now), webhook: after.webhook };
    responses.set(after, (await readResponse(lists, moment, NO_MEMBERS, context)).response);
  }
  return (moment) => responses.get(moment);
};

const allGone = ({ created_at }: Run, lost: string | undefined): RunHistoryGap => ({
  kind: 'gap',
  time: created_at,
  reason: lost === undefined ? 'expired' : 'missing',
  sequence: null,
  sentence:
    lost === undefined
      ? 'The facts of this run have left the log, which keeps them for a limited time, and no archive has them. Its last state is kept.'
      : `The facts of this run are gone, and no archive has them: they have left the log, which keeps them for a limited time, or were lost with it (${lost}). Its last state is kept.`,
});

const deliveryEntry = (made: DeliveryAttempt, show: ShowCallback): RunHistoryDelivery => ({
  kind: 'delivery',
  time: made.started_at,
  sentence: `${made.notification} notification${made.round === 1 ? '' : `, round ${made.round}`}, attempt ${made.try}: ${made.message}`,
  notification: made.notification,
  delivery: tryResponse(made, show),
});

/** `lines`: how many of the beginning of each log, and as many of its end. */
const logEntries = async (read: ReadAttemptLog, run: Run, lines: number): Promise<RunHistoryLog[]> => {
  const entries: RunHistoryLog[] = [];
  for (const { attempt } of lines > 0 ? loggedAttempts(run) : []) {
    const items = readLogs(read, run, attempt, { attempt, line: 0 });
    const { log, notices } = await logExcerpt(items, lines);
    for (const part of log) entries.push({ kind: 'log', time: part.at, log: part });
    const over = run.earlier_attempts.find(({ number }) => number === attempt)?.ended_at ?? run.updated_at;
    for (const notice of notices) entries.push({ kind: 'log', time: over, log: notice });
  }
  return entries;
};

/** The first and the last lines of the log of an attempt with how much is between them, and what is to be known of it. */
const logExcerpt = async (items: AsyncIterable<LogItem>, lines: number) => {
  const first: (RunLogLine | RunLogCut)[] = [];
  const last: (RunLogLine | RunLogCut)[] = [];
  const notices: RunLogNotice[] = [];
  let omitted: RunLogCut | undefined;
  for await (const { item } of items) {
    if ('notice' in item) notices.push(item);
    else (first.length < lines ? first : last).push(item);
    const before = last.length > lines ? last.shift() : undefined;
    if (!before) continue;
    const bytes = 'cut' in before ? before.cut.bytes : Buffer.byteLength(before.line);
    const cut = { lines: 'cut' in before ? before.cut.lines : 1, bytes };
    const { at, attempt, cut: sum } = omitted ?? { ...before, cut: { lines: 0, bytes: 0 } };
    omitted = { at, attempt, cut: { lines: sum.lines + cut.lines, bytes: sum.bytes + cut.bytes } };
  }
  return { log: [...first, ...(omitted ? [omitted] : []), ...last], notices };
};

/** What the history of a run is made from. */
interface HistorySource {
  /** What the log and the archive have of it. */
  readonly steps: readonly RunStep[];
  /** Facts that the log has lost to damage, in words, when the first ones of the run are not there; undefined for none. */
  readonly lost: string | undefined;
  /** The run as it is; undefined when it cannot be read, such as after a fact that a later release wrote. */
  readonly run: Run | undefined;
  readonly webhook: Webhook | undefined;
  readonly deliveries: readonly DeliveryAttempt[];
}

/** It is there also when the facts of the run are damaged, or have left the log in part. @throws {Refused} @throws {LogUnavailable} */
export const historySource = async (
  { log }: Kit,
  { archive, current }: Runs,
  key: RunKey,
): Promise<HistorySource> => {
  const messages = await archive.read(key);
  if (!messages) throw new Refused({ code: 'run_unreadable', why: FORGED });
  const steps = runSteps(messages);
  const last = steps.at(-1)?.after;
  const { run, webhook } = last?.run ? last : viewed(await current(key), last);
  if (run && isDeleted(run)) throw notFoundRun({ kind: 'deleted' });
  const sent = run?.request.webhook ? await readDeliveries(log, key) : undefined;
  const deliveries = sent ? [...sent.attempts, ...(sent.intermediate ? [sent.intermediate] : [])] : [];
  const [first] = steps;
  const isWhole = first !== undefined && first.step.kind !== 'gap';
  const lost = isWhole
    ? undefined
    : ((await describeAccepted(log)) ?? (first || !run ? undefined : await whyHidden(log, run)));
  return { steps, lost, run, webhook, deliveries };
};

/**
 * A broker whose file is damaged, and whose index is not, gives no fact of a run whose last one it cannot read. Undefined where they may
 * have left the log with their age.
 */
const whyHidden = async (log: EventLog, { updated_at }: Run): Promise<string | undefined> => {
  const { messages, first_ts } = (await streamState(log, 'RUNS')).state;
  return messages > 0 && Date.parse(first_ts) <= Date.parse(updated_at) ? HIDDEN : undefined;
};

const HIDDEN =
  'the log reaches back further, and its broker does not find them: a file of its store is damaged, and "runledger verify" says what else is';

const FORGED = 'The log has more messages of this run than a run can have, so most of them are forged';

/** A run of which the log does not have all. */
const viewed = (found: CurrentRun, last: RunMoment | undefined): RunMoment => {
  if (found.kind === 'found') return { run: found.run, webhook: found.webhook.state };
  if (found.kind === 'deleted' || !last) throw notFoundRun(found);
  return last;
};
