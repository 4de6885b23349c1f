import type { OutputLists } from '@runledger/blob-store/output-lists';
import type { ProgressReport } from '@runledger/contracts/events/activity';
import { IncludedMembers, WorkflowRun } from '@runledger/contracts/http/runs/run';
import type { QueuePosition } from '@runledger/contracts/requests/queue-position';
import { isEnded, isExecuting, type Run } from '@runledger/contracts/fold/run';
import type { OutputUrl } from '@runledger/contracts/run-view/shown-outputs';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { Type } from 'typebox';
import type { BlobStores } from '@runledger/blob-store/blob-stores';
import { readJsonBlob, type ReadJsonBlob } from '@runledger/blob-store/json-blob';
import { readInlineOrBlob } from '@runledger/contracts/blobs';
import type { MissingMember } from '@runledger/contracts/http/runs/run-outputs';
import { isJsonObject, jsonBytes, type JsonValue } from '@runledger/contracts/json';
import type { Logger } from '@runledger/event-log/connect/logger';
import { runResponse, type EndedResponses, type IncludedMembers as Included } from './run-response.ts';
import type { ReadCurrentRun } from './facts/current-run.ts';
import type { QueuePositions } from './queue-positions.ts';
import { audienceOf, showCallback } from './facts/shown-webhooks.ts';
import { operation, route, type Route } from '../door/operation.ts';
import { Refused } from '../door/refusal.ts';
import { notFoundRun, RunPath, runKeyOf, runLinks } from './run-path.ts';
import { AtMoment, exclusiveProblems, momentOf, runAt, type ReadPastRun } from './past-run.ts';
import type { RunView } from '../views/run-view.ts';
import type { WaitForEnd } from './await-end.ts';
import { withoutSecrets } from './facts/input-secrets.ts';

interface GetRoute {
  readonly current: ReadCurrentRun;
  readonly past: ReadPastRun;
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
}: GetRoute): Route =>
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

/** Which members a request includes. */
export interface Include {
  readonly inputs: boolean;
  readonly workflow_api: boolean;
}

export const includeOf = ({
  include = [],
}: {
  readonly include?: readonly (keyof Include)[] | undefined;
}): Include => ({
  inputs: include.includes('inputs'),
  workflow_api: include.includes('workflow_api'),
});

/** The included members of a run, and how many bytes they have as JSON. @throws {LogUnavailable} */
type ReadIncluded = (run: Run) => Promise<Included & { readonly bytes: number }>;

/** For the runs of one response, which share what they have in common: each blob is read once. */
export type OpenIncluded = (include: Include) => ReadIncluded;

interface Member {
  readonly value: JsonValue;
  readonly bytes: number;
  readonly missing: MissingMember['reason'] | undefined;
}

const NOT_INCLUDED: Member = { value: null, bytes: 0, missing: undefined };

export const openIncluded =
  (stores: BlobStores, logger: Logger): OpenIncluded =>
  (include) => {
    const begun = new Map<string, Promise<ReadJsonBlob>>();
    const read = async (of: keyof BlobStores, { org_id, run_id }: Run, sha256: string): Promise<Member> => {
      const key = `${of} ${sha256}`;
      const reading = begun.get(key) ?? readJsonBlob(stores[of], org_id, sha256);
      begun.set(key, reading);
      const found = await reading;
      if (found.kind === 'found') return { ...found, missing: undefined };
      const why = found.kind === 'damaged' ? { err: found.error } : {};
      logger.warn({ run_id, of, sha256, ...why }, `a blob of a run is ${found.kind}`);
      return { ...NOT_INCLUDED, missing: found.kind };
    };
    const inputsOf = async (run: Run): Promise<Member> => {
      const inputs = readInlineOrBlob(run.request.inputs, run.request.inputs_blob);
      if (inputs.kind === 'inline')
        return { value: shown(run, inputs.value), bytes: jsonBytes(inputs.value), missing: undefined };
      const member = await read('blobs', run, inputs.ref.sha256);
      return { ...member, value: shown(run, member.value) };
    };
    return async (run) => {
      const [inputs, workflow] = await Promise.all([
        include.inputs ? inputsOf(run) : NOT_INCLUDED,
        include.workflow_api ? read('workflows', run, run.request.workflow_sha256) : NOT_INCLUDED,
      ]);
      return {
        workflow_inputs: inputs.value,
        workflow_api: workflow.value,
        missing: [...missing('workflow_inputs', inputs), ...missing('workflow_api', workflow)],
        bytes: inputs.bytes + workflow.bytes,
      };
    };
  };

const shown = ({ request: { secret_inputs } }: Run, inputs: JsonValue): JsonValue =>
  // The only inputs that are no object are those that are lost.
  secret_inputs && isJsonObject(inputs) ? withoutSecrets(inputs, secret_inputs) : inputs;

const missing = (member: MissingMember['member'], { missing: reason }: Member): MissingMember[] =>
  reason === undefined ? [] : [{ member, reason }];
