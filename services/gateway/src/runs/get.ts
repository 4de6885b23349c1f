import { IncludedMembers, WorkflowRun } from '@runledger/contracts/http/runs/run';
import { isEnded } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { Context } from 'koa';
import { Type } from 'typebox';
import { EndedResponses, openIncluded, readResponse } from './run-response.ts';
import { readLive } from './queue-positions.ts';
import { audienceOf, callbackFor } from './run-response.ts';
import { notAuthenticated } from '../door/caller.ts';
import { operation, route, type Caller, type Route } from '../door/operation.ts';
import { Refused } from '../door/refusal.ts';
import { existingRun, RunPath, runKeyOf, runLinks } from './run-path.ts';
import { AtMoment, exclusiveProblems, momentOf, runAt } from './past-run.ts';
import { streamHolder } from '../records/quotas/quotas.ts';
import type { RunView } from '../views/run-view.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';

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

export const getRoute = (kit: Kit, runs: Runs): Route => {
  const ended = new EndedResponses();
  return route(
    getOperation,
    async ({ path, query: { include, wait, ...at } }, caller, ctx) => {
      if (caller.token && include !== undefined)
        throw new Refused({
          code: 'run_token_not_enough',
          why: 'A token of a run includes no inputs and no workflow',
        });
      const key = runKeyOf(path, caller);
      const moment = momentOf(at);
      const found = moment
        ? await runAt(runs, key, moment)
        : await presentRun(runs, key, caller, ctx, (wait ?? 0) * 1_000);
      const audience = audienceOf(caller.key.scopes);
      const { run } = found;
      const isWhole = isEnded(run) && include === undefined;
      const known = isWhole ? ended.find(found, audience) : undefined;
      if (known) return known;
      const live = await readLive(runs, moment ? [] : [run]);
      /** Addresses of files may expire, and what is in a blob may be lost. */
      let isLasting = isWhole && !run.outputs_blob;
      const { response } = await readResponse(
        runs.lists,
        { run, webhook: found.webhook.state },
        openIncluded(kit, include),
        {
          ...live(run),
          outputUrl: (file) => {
            isLasting = false;
            return runs.outputUrl(file);
          },
          showCallback: callbackFor(audience),
        },
      );
      return isLasting ? ended.keep(found, audience, response) : response;
    },
    ({ query }) => exclusiveProblems(query, ['at_seq', 'at', 'wait']),
  );
};

/** The run now, after a wait of so many milliseconds for its end. @throws {Refused} */
const presentRun = async (
  runs: Runs,
  key: RunKey,
  caller: Caller,
  ctx: Context,
  waitMs: number,
): Promise<RunView> => {
  const first = await existingRun(runs.current, key);
  if (waitMs === 0 || isEnded(first.run)) return first;
  await waitForEnd(runs, key, caller, ctx, waitMs);
  return existingRun(runs.current, key);
};

/** Holds a request until a run has ended, or until the time is over. @throws {Refused} when its credential becomes invalid meanwhile */
const waitForEnd = async (
  { subscriptions, keys }: Runs,
  key: RunKey,
  caller: Caller,
  { res }: Context,
  withinMs: number,
): Promise<void> => {
  // The client has disconnected already, so `close` will not come.
  if (res.destroyed) return;
  const over = new AbortController();
  const onClose = (): void => over.abort();
  res.once('close', onClose);
  let isInvalid = false;
  const release = keys.revalidate(caller, () => {
    isInvalid = true;
    over.abort();
  });
  try {
    await subscriptions.awaitEnd(key, { holder: streamHolder(caller), withinMs, signal: over.signal });
  } finally {
    release();
    res.off('close', onClose);
  }
  if (isInvalid) throw notAuthenticated();
};
