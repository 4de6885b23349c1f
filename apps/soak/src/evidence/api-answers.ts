import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { dirname } from 'node:path/posix';
import { WorkflowRun } from '@runledger/contracts/http/runs/run';
import { RunPage } from '@runledger/contracts/http/runs/runs';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { RunLogCut, RunLogLine, RunLogNotice } from '@runledger/contracts/http/runs/run-logs';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { QueuesPage } from '@runledger/contracts/http/queues';
import { atOnce } from '@runledger/testing/at-once';
import type { Pool } from '@runledger/contracts/requests/pools';
import { send, runResponse } from '../clients/api.ts';
import {
  type GatewayResponses,
  type FileResponse,
  type LogsResponse,
  isIdle,
  type RecordResponse,
} from './evidence.ts';
import { filesOf, type LoggedRuns, linesRequestedBy } from './logged-run.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { CreatedRecord } from '../clients/client-records.ts';

const Run = compiledSchema(WorkflowRun);
const Page = compiledSchema(RunPage);
const Cursor = compiledSchema(Type.Object({ next_cursor: Type.Union([Type.String(), Type.Null()]) }));
const PAGE = 100;
const AT_ONCE = 4;
const WITHIN_MS = 20_000;

const get = (url: string, apiKey?: string): Promise<Response> =>
  send(url, { ...(apiKey !== undefined && { apiKey }), signal: AbortSignal.timeout(WITHIN_MS) });

const getJson = async (
  url: string,
  apiKey: string,
): Promise<{ readonly status: number; readonly body: unknown }> => {
  const response = await get(url, apiKey);
  return { status: response.status, body: await response.json() };
};

/** The pages of a list, up to its end. The address has a query. */
async function* pagesOf(
  url: string,
  apiKey: string,
): AsyncGenerator<{ readonly status: number; readonly body: unknown }> {
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await getJson(`${url}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`, apiKey);
    yield page;
    cursor = Cursor.Check(page.body) ? page.body.next_cursor : null;
  }
}

/** What a gateway shows of every run, in its list and one by one. @throws Error for an unexpected answer */
export const gatewayResponses = async (
  gateway: string,
  apiKey: string,
  runs: readonly string[],
): Promise<GatewayResponses> => {
  const listed: GatewayResponses['listed'][number][] = [];
  for await (const { status, body } of pagesOf(`${gateway}/runs?limit=${PAGE}`, apiKey)) {
    if (status !== 200 || !Page.Check(body)) throw new Error(`${gateway} answered its list with ${status}`);
    listed.push(...body.runs.map((run) => ({ run: run.id, shown: runResponse(run) })));
  }
  const read = await atOnce(AT_ONCE, runs, async (run) => {
    const { status, body } = await getJson(`${gateway}/run/${run}?include=inputs,workflow_api`, apiKey);
    if (status !== 404 && !Run.Check(body)) throw new Error(`${gateway} answered run ${run} with ${status}`);
    return { run, shown: Run.Check(body) ? runResponse(body) : null };
  });
  return { gateway, listed, read };
};

/** What all gateways answer for each file that the ends of runs list. */
export const fileResponses = (
  gateways: readonly string[],
  runs: LoggedRuns,
): Promise<readonly FileResponse[]> => {
  const wanted = [...runs].flatMap(([run, logged]) =>
    filesOf(logged).flatMap((file) => gateways.map((gateway) => ({ gateway, run, ...file }))),
  );
  return atOnce(AT_ONCE, wanted, async ({ gateway, run, key, filename }) => {
    const response = await get(`${new URL(gateway).origin}/outputs/${key}/${encodeURIComponent(filename)}`);
    const content = Buffer.from(await response.arrayBuffer());
    const sha256 = createHash('sha256').update(content).digest('hex');
    return { gateway, run, key, status: response.status, sha256 };
  });
};

const Items = Type.Array(Type.Union([RunLogLine, RunLogCut, RunLogNotice]));

/** The logs of each run that was to write some, at one gateway after the other. @throws Error for an unexpected answer */
export const logsResponses = (
  gateways: readonly string[],
  apiKey: string,
  runs: LoggedRuns,
): Promise<readonly LogsResponse[]> => {
  const wanted = [...runs].flatMap(([run, logged], at) => {
    const gateway = gateways[at % gateways.length];
    return gateway !== undefined && linesRequestedBy(logged) > 0 ? [{ gateway, run }] : [];
  });
  return atOnce(AT_ONCE, wanted, async ({ gateway, run }) => {
    const response = await get(`${gateway}/run/${run}/logs`, apiKey);
    const lines = (await response.text()).split('\n').filter((line) => line !== '');
    const items: unknown = response.ok ? lines.map((line) => JSON.parse(line) as unknown) : [];
    if (!Value.Check(Items, items)) throw new Error(`${gateway} answered with unknown logs of run ${run}`);
    return { gateway, run, status: response.status, items };
  });
};

const PoolsPage = compiledSchema(QueuesPage);
const POOLS_WITHIN_MS = 60_000;
const AGAIN_AFTER_MS = 1_000;

/** Who waits and who holds slots, as soon as nobody does or the time is up; undefined if no gateway has said so. */
export const poolsResponse = async ({
  gateways,
  operatorKey,
}: Pick<Cluster, 'gateways' | 'operatorKey'>): Promise<readonly Pool[] | undefined> => {
  let pools: readonly Pool[] | undefined;
  const deadline = performance.now() + POOLS_WITHIN_MS;
  for (let tries = 0; performance.now() < deadline; tries += 1) {
    const url = `${gateways[tries % gateways.length] ?? ''}/queues`;
    const body = await getJson(url, operatorKey).then(
      (answer) => answer.body,
      () => undefined,
    );
    if (PoolsPage.Check(body)) ({ pools } = body);
    if (pools?.every(isIdle)) return pools;
    await pause(AGAIN_AFTER_MS);
  }
  return pools;
};

const Ids = Type.Array(Type.Object({ id: Type.String() }));
const RecordsPage = compiledSchema(
  Type.Object({ versions: Type.Optional(Ids), deployments: Type.Optional(Ids) }),
);

/** What all gateways answer for each record that clients created, and whether they list it. */
export const recordResponses = async (
  { gateways, organisation: { api_key } }: Cluster,
  records: readonly CreatedRecord[],
): Promise<readonly RecordResponse[]> => {
  const idsListedAt = async (gateway: string): Promise<ReadonlySet<string>> => {
    const ids = new Set<string>();
    for (const list of new Set(records.map((record) => dirname(record.path))))
      for (const archived of [true, false])
        for await (const { body } of pagesOf(
          `${gateway}${list}?limit=${PAGE}&archived=${archived}`,
          api_key,
        )) {
          if (!RecordsPage.Check(body)) throw new Error(`${gateway} answered ${list} with no list`);
          for (const { id } of body.versions ?? body.deployments ?? []) ids.add(id);
        }
    return ids;
  };
  const shown = gateways.map(async (gateway) => {
    const listed = await idsListedAt(gateway);
    return atOnce(AT_ONCE, records, async ({ path, members }) => {
      const isListed = listed.has(String(members['id']));
      return { gateway, path, ...(await getJson(`${gateway}${path}`, api_key)), isListed };
    });
  });
  return (await Promise.all(shown)).flat();
};
