import { WorkflowRun } from '@runledger/contracts/http/runs/run';
import { RunPage } from '@runledger/contracts/http/runs/runs';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { shownRun } from '../clients/api.ts';
import type { ShownByGateway } from '../evidence/evidence.ts';

const Run = compiledSchema(WorkflowRun);
const Page = compiledSchema(RunPage);
const PAGE = 100;
const AT_ONCE = 4;
const WITHIN_MS = 20_000;

/** What a gateway shows of every run, in its list and one by one. @throws Error for an unexpected answer */
export const shownByGateway = async (
  gateway: string,
  apiKey: string,
  runs: readonly string[],
): Promise<ShownByGateway> => {
  const get = async (path: string): Promise<{ readonly status: number; readonly body: unknown }> => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${gateway}${path}`, { headers, signal: AbortSignal.timeout(WITHIN_MS) });
    return { status: response.status, body: await response.json() };
  };
  const listed: ShownByGateway['listed'][number][] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { status, body } = await get(
      `/runs?limit=${PAGE}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    if (status !== 200 || !Page.Check(body)) throw new Error(`${gateway} answered its list with ${status}`);
    listed.push(...body.runs.map((run) => ({ run: run.id, shown: shownRun(run) })));
    cursor = body.next_cursor;
  }
  const read: ShownByGateway['read'][number][] = [];
  const left = [...runs];
  const readOn = async (): Promise<void> => {
    for (let run = left.pop(); run !== undefined; run = left.pop()) {
      const { status, body } = await get(`/run/${run}?include=inputs,workflow_api`);
      if (status !== 404 && !Run.Check(body))
        throw new Error(`${gateway} answered run ${run} with ${status}`);
      read.push({ run, shown: Run.Check(body) ? shownRun(body) : null });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, readOn));
  return { gateway, listed, read };
};
