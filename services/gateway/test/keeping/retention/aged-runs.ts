import type { RunKey } from '@runledger/contracts/events/subjects';
import { isDeleted, type Run } from '@runledger/contracts/fold/run';
import { readLogAge } from '@runledger/event-log/read/stream-identity';
import { succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import type { RunViews } from '../../../src/views/run-views.ts';
import { anAttemptOf, numbered, upload } from '../../runs/attempts/an-upload.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import type { Tenant } from '../../fixtures/gateway/a-tenant.ts';
import type { TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { project } from '../../fixtures/views/a-projection.ts';

export const FILE_BYTES = 1_000;
const DAY_MS = 86_400_000;

export interface RunWithFile {
  readonly run: RunKey;
  /** The address of its file. */
  readonly url: string;
}

/** A run that has ended, with one stored file. */
export const aRunWithFile = async (
  bed: TestBed,
  gateway: TestGateway,
  tenant: Tenant,
  fields: object = {},
): Promise<RunWithFile> => {
  const run = await queueSample(gateway, tenant, fields);
  const { status, body: file } = await upload(gateway, await anAttemptOf(bed, run), numbered(FILE_BYTES));
  if (status !== 201) throw new Error(`the upload was answered ${status}`);
  await appendAll(bed.log, succeeded(run, [{ ...anOutput, data: { files: [file] } }]));
  const { body } = await call(`${gateway.api}/run/${run.run_id}`, tenant.key);
  return { run, url: body.outputs[0].data.files[0].url };
};

/** The views have all of these runs. Nobody projects afterwards. */
export const viewAll = async (bed: TestBed, views: RunViews, runs: readonly RunKey[]): Promise<void> => {
  await using open = new AsyncDisposableStack();
  open.use(project(bed.log, views));
  const isViewed = async (key: RunKey) => (await views.find(key))?.head === (await lastOf(bed, key));
  await waitFor('the views', async () => (await Promise.all(runs.map(isViewed))).every(Boolean));
};

const lastOf = async ({ log }: TestBed, { org_id, run_id }: RunKey): Promise<number> => {
  const last = await log.jsm.streams.getMessage('RUNS', { last_by_subj: `runs.${org_id}.${run_id}.life.>` });
  return last?.seq ?? -1;
};

/** Makes a view as old as that, by the broker's clock. */
export const age = async (
  { log }: TestBed,
  views: RunViews,
  key: RunKey,
  { created, ended = created }: { readonly created: number; readonly ended?: number },
): Promise<void> => {
  const view = await views.find(key);
  if (!view || isDeleted(view.run)) throw new Error('it has no view');
  const { now } = await readLogAge(log);
  const ago = (days: number): string => new Date(now - days * DAY_MS).toISOString();
  const run: Run = { ...view.run, created_at: ago(created), updated_at: ago(ended) };
  await views.save([{ ...view, run }]);
};

/** The key needs the scope admin. */
export const choose = async (
  { api }: TestGateway,
  key: string,
  days: object,
  status = 200,
): Promise<Awaited<ReturnType<typeof call>>['body']> => {
  const answer = await call(`${api}/retention`, key, {
    method: 'PATCH',
    body: JSON.stringify(days),
    headers: { 'content-type': 'application/json' },
  });
  if (answer.status !== status)
    throw new Error(`it was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
};

/** Of a metric of what retention removed, at all of the gateways. */
export const sumOf = async (gateways: readonly TestGateway[], name: string): Promise<number> => {
  const pattern = new RegExp(`^${name}\\{[^}]*why="retention"[^}]*\\} (\\d+)$`, 'm');
  const shown = await Promise.all(gateways.map(({ metrics }) => metrics.metrics()));
  return shown.reduce((sum, text) => sum + Number(pattern.exec(text)?.[1]), 0);
};
