import { IncludedMembers, WorkflowRun } from '@runledger/contracts/http/runs/run';
import type { QueuePosition } from '@runledger/contracts/requests/queue-position';
import { isEnded, isExecuting } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { Type } from 'typebox';
import { runResponse } from './run-response.ts';
import { includeOf } from './included.ts';
import type { ReadCurrentRun } from './facts/current-run.ts';
import type { QueuePositions } from './queue-positions.ts';
import { audienceOf, showCallback } from './facts/shown-webhooks.ts';
import { operation, route, type Route } from '../door/operation.ts';
import { Refused } from '../door/refusal.ts';
import { notFoundRun, RunPath, runKeyOf, runLinks } from './run-path.ts';
import { AtMoment, exclusiveProblems, momentOf, runAt } from './past-run.ts';
import type { RunView } from '../views/run-view.ts';
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

export const getOperation = operation({
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
