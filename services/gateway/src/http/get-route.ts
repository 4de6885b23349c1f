import type { JsonValue } from '@runledger/contracts/json';
import { isExecuting, type Run } from '@runledger/contracts/run';
import type { RunKey } from '@runledger/contracts/subjects';
import type { ProgressReport } from '@runledger/contracts/activity';
import type { Context, Middleware } from 'koa';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { runResponse } from '../domain/run-response.ts';
import type { ReadCurrentRun } from '../runs/current-run.ts';
import type { Callers } from './callers.ts';
import { notFoundRun } from './not-found-run.ts';
import { invalid, Refused, type Invalid } from './problem.ts';
import { readRunId } from './run-id.ts';

export interface GetRoute {
  readonly callers: Callers;
  readonly current: ReadCurrentRun;
  readonly progress: (run: Run) => Promise<ProgressReport | undefined>;
  readonly catalogue: Catalogue;
  readonly publicUrl: () => string;
}

/** `GET /run/{run_id}` */
export const getRoute =
  ({ callers, current, progress, catalogue, publicUrl }: GetRoute): Middleware =>
  async (ctx) => {
    const { org_id } = await callers(ctx, 'runs:read');
    const { key, include } = readRequest(ctx, org_id);
    const found = await current(key);
    if (found.kind !== 'found') throw notFoundRun(found);
    const { run, webhook } = found;
    const { inputs, workflow_version_id } = run.request;
    const [report, workflow_api] = await Promise.all([
      isExecuting(run) ? progress(run) : undefined,
      include.has('workflow_api') ? workflowOf(catalogue, org_id, workflow_version_id) : null,
    ]);
    const workflow_inputs = include.has('inputs') ? inputs : null;
    ctx.body = runResponse(run, {
      webhook: webhook.webhook,
      report,
      workflow_inputs,
      workflow_api,
      publicUrl: publicUrl(),
    });
  };

const workflowOf = async (catalogue: Catalogue, org: string, id: string): Promise<JsonValue> =>
  (await catalogue.getWorkflowVersion(org, id))?.workflow ?? null;

const INCLUDABLE: ReadonlySet<string> = new Set(['inputs', 'workflow_api']);

const readRequest = (
  ctx: Context,
  org_id: RunKey['org_id'],
): { readonly key: RunKey; readonly include: ReadonlySet<string> } => {
  // The router puts it there; `params` of its types is open.
  const path = readRunId(String(ctx['params']?.run_id));
  const include = new Set(
    [ctx.query['include'] ?? []]
      .flat()
      .flatMap((names) => names.split(','))
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  );
  const wrong: Invalid[] = 'problem' in path ? [path.problem] : [];
  if ([...include].some((name) => !INCLUDABLE.has(name))) {
    wrong.push(invalid(['query', 'include'], 'enum', "Input should be 'inputs' or 'workflow_api'"));
  }
  if ('problem' in path || wrong.length > 0) throw new Refused({ kind: 'invalid', problems: wrong });
  return { key: { org_id, run_id: path.id }, include };
};
