import { verifyAttempt } from '@runledger/contracts/attempt-token';
import { isExecuting, type ExecutingRun } from '@runledger/contracts/fold/run';
import { isOrgId, isRunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { head, readRun } from '@runledger/event-log/read/read-run';
import type { Context } from 'koa';
import { bearerOf } from '../../door/caller.ts';
import { noSuchPath, Refused } from '../../door/refusal.ts';

/** One attempt of a run, as the path of a request names it. */
interface NamedAttempt {
  readonly run: RunKey;
  readonly attempt: number;
}

const ATTEMPT = /^[1-9]\d{0,5}$/;

/** The attempt of `/executions/{org_id}/{run_id}/{attempt}/…`. @throws {Refused} */
export const namedAttempt = (ctx: Context): NamedAttempt => {
  const { org_id, run_id, attempt }: Record<string, unknown> = ctx['params'] ?? {};
  const org = String(org_id);
  const run = String(run_id);
  const number = String(attempt);
  if (!isOrgId(org) || !isRunId(run) || !ATTEMPT.test(number)) throw noSuchPath(ctx);
  return { run: { org_id: org, run_id: run }, attempt: Number(number) };
};

/** An attempt that is executing, and the token with which its executor requests. */
interface PermittedAttempt {
  readonly run: ExecutingRun;
  readonly token: string;
}

/**
 * The run of the attempt, if the request has the attempt's token and the log's leader says that the attempt is executing. Without
 * the token, a run that does not exist is refused as one that does: a client learns nothing. A signature is public, so the time
 * that its check takes tells nothing either.
 * @throws {Refused} @throws {LogUnavailable}
 */
export const permittedRun = async (
  log: EventLog,
  ctx: Context,
  { run: key, attempt }: NamedAttempt,
): Promise<PermittedAttempt> => {
  const token = bearerOf(ctx.req);
  if (token === undefined) throw badToken();
  const read = await readRun(log, key, { atLeast: await head(log, key) });
  // Its beginning has left the log: it ends soon, and until then its executor tries again.
  if (read.kind === 'damaged') throw new Refused({ code: 'run_unreadable', why: BEGINNING_GONE });
  if (read.kind !== 'found') throw badToken();
  const assigned = read.facts.find(({ event }) => event.type === 'RunAssigned' && event.attempt === attempt);
  if (assigned?.event.type !== 'RunAssigned') throw badToken();
  const { executor_public_key } = assigned.event.data;
  if (!(await verifyAttempt(executor_public_key, token, key, attempt))) throw badToken();
  const { run } = read;
  if (isExecuting(run) && run.attempt.number === attempt) return { run, token };
  const why = isExecuting(run) ? `attempt ${run.attempt.number} is executing` : `the run is ${run.status}`;
  throw new Refused({ code: 'attempt_over', why: `Attempt ${attempt} is over: ${why}` });
};

const BEGINNING_GONE =
  'The run cannot be read now: the log no longer holds its beginning. It ends as log_expired soon; try again until then';

const badToken = (): Refused =>
  new Refused({ code: 'attempt_token_invalid', why: 'This is not the token of this attempt' });
