import type { OutputLists } from '@runledger/blob-store/output-lists';
import type { ProgressReport } from '@runledger/contracts/events/activity';
import { IncludedMembers, WorkflowRun } from '@runledger/contracts/http/runs/run';
import type { QueuePosition } from '@runledger/contracts/requests/queue-position';
import { isEnded, isExecuting, type Run } from '@runledger/contracts/fold/run';
import type { OutputUrl } from '@runledger/contracts/run-view/shown-outputs';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { Type } from 'typebox';
import { runResponse } from './core/run-response.ts';
import { includeOf, type OpenIncluded } from './read-included.ts';
import type { ReadCurrentRun } from '../current/current-run.ts';
import type { EndedResponses } from './ended-responses.ts';
import type { QueuePositions } from './queue-positions.ts';
import { audienceOf, showCallback } from '../../webhooks/core/show-callback.ts';
import { operation, route, type Route } from '../../http/operation.ts';
import { Refused } from '../../http/refusal.ts';
import { notFoundRun, RunPath, runKeyOf } from '../current/run-path.ts';
import type { WaitForEnd } from '../subscribe/wait-for-end.ts';

export interface GetRoute {
  readonly current: ReadCurrentRun;
  readonly lists: OutputLists;
  readonly progress: (run: Run) => Promise<ProgressReport | undefined>;
  readonly positions: QueuePositions;
  readonly wait: WaitForEnd;
  readonly included: OpenIncluded;
  readonly outputUrl: OutputUrl;
  readonly ended: EndedResponses;
}

const GetQuery = Type.Object({
  include: Type.Optional(IncludedMembers),
  wait: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 60,
      description:
        'How many seconds to wait for the end of the run. Then the response shows the run as it is.',
    }),
  ),
});

export const getOperation = operation({
  id: 'getRun',
  method: 'GET',
  path: '/run/{run_id}',
  tag: 'Runs',
  summary: 'Read a run',
  description: 'The response never shows less than any earlier response, webhook or event.',
  scope: 'runs:read',
  runToken: { scope: 'read' },
  request: { path: RunPath, query: GetQuery },
  response: { status: 200, description: 'The run.', body: WorkflowRun },
  refusals: [404],
});

export const getRoute = ({
  current,
  lists,
  progress,
  positions,
  wait,
  included,
  outputUrl,
  ended,
}: GetRoute): Route =>
  route(getOperation, async ({ path, query }, caller, ctx) => {
    if (caller.token && query.include !== undefined)
      throw new Refused({ kind: 'not_allowed', why: 'A token of a run includes no inputs and no workflow' });
    const key = runKeyOf(path, caller);
    const first = await current(key);
    const waitMs = (query.wait ?? 0) * 1_000;
    const waits = waitMs > 0 && first.kind === 'found' && !isEnded(first.run);
    if (waits) await wait(key, caller, ctx, waitMs);
    const found = waits ? await current(key) : first;
    if (found.kind !== 'found') throw notFoundRun(found);
    const { webhook } = found;
    const audience = audienceOf(caller.key.scopes);
    const isWhole = isEnded(found.run) && query.include === undefined;
    const known = isWhole ? ended.find(found, audience) : undefined;
    if (known) return known;
    const { run, missing } = await lists.ofRun(found.run);
    const [report, position, members] = await Promise.all([
      isExecuting(run) ? progress(run) : undefined,
      run.status === 'queued' ? positionOf(positions, key) : undefined,
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
  });

const positionOf = async (positions: QueuePositions, key: RunKey): Promise<QueuePosition | undefined> =>
  (await positions([key])).get(key.run_id);
